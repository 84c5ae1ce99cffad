-- For wrk: reads of the resource in $URI_TEXT, in revision 2026-07-28. At the end it prints a line with ok=, bad= and rps=.
local uri = os.getenv("URI_TEXT")
local meta = '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},' ..
  '"io.modelcontextprotocol/clientInfo":{"name":"wrk","version":"1"}'

wrk.method = "POST"
wrk.body = '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"' .. uri .. '","_meta":{' .. meta .. "}}}"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
wrk.headers["MCP-Protocol-Version"] = "2026-07-28"
wrk.headers["Mcp-Method"] = "resources/read"
wrk.headers["Mcp-Name"] = uri

local threads = {}

function setup(thread) threads[#threads + 1] = thread end

function init() ok, bad = 0, 0 end

function response(status, _, body)
  if status == 200 and body:find('"result"', 1, true) then ok = ok + 1 else bad = bad + 1 end
end

function done(summary)
  local good, wrong = 0, 0
  for _, t in ipairs(threads) do
    good, wrong = good + t:get("ok"), wrong + t:get("bad")
  end
  local e = summary.errors
  wrong = wrong + e.connect + e.read + e.write + e.timeout
  print(string.format("reads: ok=%d bad=%d rps=%.1f", good, wrong, good / (summary.duration / 1e6)))
end

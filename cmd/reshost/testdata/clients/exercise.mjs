// What each client is put through: node exercise.mjs CLIENT (http URL | stdio COMMAND ARGS…). It prints what it saw as JSON.
// CLIENT is modern or legacy, of @modelcontextprotocol/client, or sdk1, @modelcontextprotocol/sdk.

const [kind, transportKind, ...rest] = process.argv.slice(2)

async function connect() {
  const info = { name: 'exercise', version: '1' }
  const [clients, http, stdio, types] = kind === 'sdk1'
    ? await Promise.all([
        import('@modelcontextprotocol/sdk/client/index.js'), import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
        import('@modelcontextprotocol/sdk/client/stdio.js'), import('@modelcontextprotocol/sdk/types.js'),
      ])
    : await Promise.all([
        import('@modelcontextprotocol/client'), import('@modelcontextprotocol/client'), import('@modelcontextprotocol/client/stdio'), null,
      ])
  const client = new clients.Client(info, kind === 'modern' ? { versionNegotiation: { mode: 'auto' } } : {})
  const updated = new Promise((resolve) => {
    const heard = (n) => resolve(n.params.uri)
    client.setNotificationHandler(types ? types.ResourceUpdatedNotificationSchema : 'notifications/resources/updated', heard)
  })
  const transport = transportKind === 'http'
    ? new http.StreamableHTTPClientTransport(new URL(rest[0]))
    : new stdio.StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
  await client.connect(transport)
  return { client, updated }
}

const { client, updated } = await connect()
const seen = {}
seen.resources = (await client.listResources()).resources.map((r) => r.uri)
seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate)
seen.text = (await client.readResource({ uri: 'notes://a%20b.md' })).contents[0].text
seen.blob = (await client.readResource({ uri: 'notes://raw' })).contents[0].blob
seen.missing = await client.readResource({ uri: 'notes://none' }).then(() => 'found', (e) => e.code)
const completed = await client.complete({ ref: { type: 'ref/resource', uri: 'notes://{+path}' }, argument: { name: 'path', value: 'ra' } })
seen.values = completed.completion.values
if (kind === 'modern') {
  const subscription = await client.listen({ resourceSubscriptions: ['notes://ticking'] })
  seen.updated = await updated
  await subscription.close()
} else {
  await client.subscribeResource({ uri: 'notes://ticking' })
  seen.updated = await updated
}
await client.close()
console.log(JSON.stringify(seen))

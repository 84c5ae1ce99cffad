//! The conformance guest in Rust: README.md one folder up says what it does.

use reshost::{
    escape_path, fs, Call, Capability, CompleteRequest, Completion, Description, Error, Json, Level, ListRequest, ListResponse,
    Part, Plugin, PollRequest, PollResponse, Provider, Question, ReadRequest, Resource, Response, Result, Template, Var,
};
use std::cell::Cell;

struct Guest {
    /// Parsed once, and there in every call.
    greeting: String,
    /// Calls that this memory has seen, so that it is 1 under reset.
    calls: Cell<i64>,
}

impl Provider for Guest {
    fn plugin() -> Plugin<Self> {
        Plugin::new("sdk", "1")
            .scheme("sdk")
            .resource(Resource::new("sdk://hello", "hello").title("Hello \"you\""), Guest::hello)
            .template(
                Template::new("sdk://do/{what}{?n}", "do")
                    .mime("text/plain")
                    .var(Var::new("what"))
                    .var(Var::new("n"))
                    .read(Guest::read_do),
            )
            .template(
                Template::new("sdk://files/{+path}", "files").var(Var::new("path").complete(Guest::complete_file)).read(Guest::read_file),
            )
            .template(
                Template::new("sdk://pair/{first}/{second}", "pair")
                    .mime("text/plain")
                    .var(Var::new("first").slash())
                    .var(Var::new("second").complete(Guest::complete_second))
                    .read(|_, req, out| out.text(&format!("{}|{}", req.var("first"), req.var("second")))),
            )
            .list(Guest::list)
            .poll(100, Guest::poll)
            .dynamic(Guest::describe, |_, req, out| out.text(&format!("{} {}", req.uri_template(), req.var("key"))))
            .capability(Capability::new("fs", "reads the files"))
    }

    fn init(call: &Call) -> Result<Self> {
        let greeting = call.config().one_of("/greeting", "hello", &["hello", "servus"])?;
        Ok(Guest { greeting, calls: Cell::new(0) })
    }
}

impl Guest {
    fn hello(&self, _: &ReadRequest, out: &mut Response) -> Result<()> {
        self.calls.set(self.calls.get() + 1);
        let mut j = Json::new();
        j.begin_object().key("greeting").string(&self.greeting).key("calls").int(self.calls.get()).end_object();
        out.json(&j)
    }

    fn read_do(&self, req: &ReadRequest, out: &mut Response) -> Result<()> {
        match req.var("what") {
            "parts" => parts(req, out),
            "flood" => {
                out.part(Part::default())?;
                loop {
                    out.write(&[0; 1 << 16])?;
                }
            }
            "large" => {
                out.part(Part { text: true, ..Part::default() })?;
                (0..16).try_for_each(|_| out.write("0123456789abcdef".repeat(4096).as_bytes()))
            }
            "empty" => out.text(""),
            "nothing" => Ok(()),
            "etag" => {
                if req.if_etag() == "v1" {
                    return Err(Error::not_modified());
                }
                out.set_etag("v1");
                out.set_public();
                out.text("tagged")
            }
            "typing" => out.text(req.var("waht")),
            "trap" => panic!("on purpose"),
            "ask" => ask(req, out),
            "changed" => {
                req.updated(&(req.scheme("sdk") + "://hello"));
                req.list_changed();
                req.progress(1, 2, "half");
                req.log(Level::Warning, "a line");
                out.text(req.lookup_var("n").unwrap_or("none"))
            }
            "invalid" => Err(Error::invalid("the reason")),
            "denied" => Err(Error::denied("the reason")),
            "unavailable" => Err(Error::unavailable("later", 1500)),
            "internal" => Err(Error::internal("the reason")),
            "too-large" => Err(Error::too_large("the reason")),
            "unsupported" => Err(Error::unsupported("the reason")),
            _ => Err(Error::not_found(req.uri().to_string())),
        }
    }

    fn read_file(&self, req: &ReadRequest, out: &mut Response) -> Result<()> {
        out.part(Part::default())?;
        fs::copy_file(out, &format!("main/{}", req.var("path")))
    }

    fn list(&self, req: &ListRequest, out: &mut ListResponse) -> Result<()> {
        for info in fs::entries("main", req.cursor()) {
            let info = info?;
            let uri = req.scheme("sdk") + "://files/" + &escape_path(&info.name);
            if !out.add(&Resource::new(uri, info.name.clone()).size(info.size), &info.name) {
                break;
            }
        }
        Ok(())
    }

    fn complete_file(&self, _: &CompleteRequest, out: &mut Completion) -> Result<()> {
        for info in fs::entries("main", "") {
            out.add(&info?.name);
        }
        Ok(())
    }

    fn complete_second(&self, req: &CompleteRequest, out: &mut Completion) -> Result<()> {
        for _ in 0..3 {
            out.add(&format!("{}-{}", req.known("first").unwrap_or("?"), req.value()));
        }
        out.set_total(7);
        Ok(())
    }

    /// Counts in its state, and reports everything that is watched.
    fn poll(&self, req: &PollRequest, out: &mut PollResponse) -> Result<()> {
        req.watched().for_each(|uri| req.updated(uri));
        if req.state().len() == 2 {
            req.list_changed();
        }
        out.set_state(&[req.state(), b"x"].concat())
    }

    fn describe(&self, _: &Call, d: &mut Description) -> Result<()> {
        d.template(Template::new("sdk://late/{key}", "late").var(Var::new("key")), &[]);
        Ok(())
    }
}

fn parts(req: &ReadRequest, out: &mut Response) -> Result<()> {
    out.set_ttl(1500);
    out.set_etag("v1");
    let uri = req.scheme("sdk") + "://hello";
    out.part(Part { uri: &uri, mime: "text/x-test", text: true, meta: r#"{"test.example/a":1}"#, ..Part::default() })?;
    for _ in 0..3 {
        out.write("é".as_bytes())?;
    }
    out.part(Part { mime: "application/octet-stream", ..Part::default() })?;
    out.write(&[0, 255])
}

fn ask(req: &ReadRequest, out: &mut Response) -> Result<()> {
    if let Some(answer) = req.answer("k") {
        return out.text(&(answer.to_string() + &String::from_utf8_lossy(req.state())));
    }
    if !req.can_ask("elicitation/create") {
        return Err(Error::unsupported("this client cannot be asked"));
    }
    out.input_required(b"s", &[Question { key: "k", method: "elicitation/create", params: r#"{"message":"?","requestedSchema":{"type":"object","properties":{}}}"# }])
}

reshost::export!(Guest);

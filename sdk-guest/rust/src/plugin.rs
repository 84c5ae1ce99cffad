use crate::call::Call;
use crate::complete::{CompleteRequest, Completion};
use crate::error::Result;
use crate::json::Json;
use crate::list::{ListRequest, ListResponse};
use crate::poll::{PollRequest, PollResponse};
use crate::read::{ReadRequest, Response};
use crate::wire::Message;
use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

type Text = Cow<'static, str>;

pub(crate) type ReadFn<T> = fn(&T, &ReadRequest<'_>, &mut Response<'_>) -> Result<()>;
pub(crate) type ListFn<T> = fn(&T, &ListRequest<'_>, &mut ListResponse) -> Result<()>;
pub(crate) type CompleteFn<T> = fn(&T, &CompleteRequest<'_>, &mut Completion) -> Result<()>;
pub(crate) type PollFn<T> = fn(&T, &PollRequest<'_>, &mut PollResponse) -> Result<()>;
pub(crate) type DescribeFn<T> = fn(&T, &Call, &mut Description) -> Result<()>;

/// A plugin: what it serves, and the value that its handlers share.
pub trait Provider: Sized + 'static {
    /// What the plugin serves. It runs when the plugin is packed and once an instance, before [`Provider::init`].
    fn plugin() -> Plugin<Self>;

    /// Makes the value that the handlers get. It runs once an instance, before the host keeps the guest's memory: parse the
    /// config here. Only `config` and `log` work. An error ends the load with its text.
    fn init(call: &Call) -> Result<Self>;
}

/// What a plugin serves: a builder.
pub struct Plugin<T> {
    pub(crate) name: Text,
    pub(crate) version: Text,
    pub(crate) schemes: Vec<Text>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) resource_reads: Vec<ReadFn<T>>,
    pub(crate) templates: Vec<Template<T>>,
    pub(crate) list: Option<ListFn<T>>,
    pub(crate) poll: Option<(u64, PollFn<T>)>,
    pub(crate) describe: Option<DescribeFn<T>>,
    pub(crate) dynamic_read: Option<ReadFn<T>>,
    pub(crate) dynamic_complete: Option<CompleteFn<T>>,
    capabilities: Vec<Capability>,
    config_schema: Text,
    isolation: Text,
    memory_bytes: u64,
    timeout_ms: u64,
}

impl<T> Plugin<T> {
    /// A plugin of that name (1 to 64 letters, digits, `-`, `_`, `.`) and version.
    pub fn new(name: impl Into<Text>, version: impl Into<Text>) -> Self {
        Plugin {
            name: name.into(),
            version: version.into(),
            schemes: Vec::new(),
            resources: Vec::new(),
            resource_reads: Vec::new(),
            templates: Vec::new(),
            list: None,
            poll: None,
            describe: None,
            dynamic_read: None,
            dynamic_complete: None,
            capabilities: Vec::new(),
            config_schema: Text::default(),
            isolation: Text::default(),
            memory_bytes: 0,
            timeout_ms: 0,
        }
    }

    /// Claims a URI scheme, in lower case. `*`: the operator's config names them.
    pub fn scheme(mut self, name: impl Into<Text>) -> Self {
        self.schemes.push(name.into());
        self
    }

    /// Adds a direct resource and what reads it. Its URI is in normal form (RFC 3986 section 6.2.2).
    pub fn resource(mut self, r: Resource, read: ReadFn<T>) -> Self {
        self.resources.push(r);
        self.resource_reads.push(read);
        self
    }

    /// Adds a template. It needs a [`Template::read`].
    pub fn template(mut self, t: Template<T>) -> Self {
        self.templates.push(t);
        self
    }

    /// Lists resources beside the direct ones.
    pub fn list(mut self, list: ListFn<T>) -> Self {
        self.list = Some(list);
        self
    }

    /// Looks for changes at this interval while somebody watches.
    pub fn poll(mut self, every_ms: u64, poll: PollFn<T>) -> Self {
        self.poll = Some((every_ms, poll));
        self
    }

    /// Adds resources and templates that are known at load only. Granted capabilities work in `describe`, which runs again after
    /// [`Call::list_changed`]. Reads of what it added come to `read`; [`ReadRequest::uri_template`] says which matched.
    pub fn dynamic(mut self, describe: DescribeFn<T>, read: ReadFn<T>) -> Self {
        self.describe = Some(describe);
        self.dynamic_read = Some(read);
        self
    }

    /// Completes the variables of templates that describe added.
    pub fn dynamic_complete(mut self, complete: CompleteFn<T>) -> Self {
        self.dynamic_complete = Some(complete);
        self
    }

    /// Asks for something outside the sandbox.
    pub fn capability(mut self, c: Capability) -> Self {
        self.capabilities.push(c);
        self
    }

    /// A JSON Schema for the plugin's config, which the `reshost` command checks before it loads the plugin.
    pub fn config_schema(mut self, json: impl Into<Text>) -> Self {
        self.config_schema = json.into();
        self
    }

    /// The isolation that the plugin needs: `reset` (the default), `fresh` or `shared`.
    pub fn isolation(mut self, isolation: impl Into<Text>) -> Self {
        self.isolation = isolation.into();
        self
    }

    /// How much memory an instance needs, and how long a call; the operator's limits bound both. 0: unsaid.
    pub fn limits(mut self, memory_bytes: u64, timeout_ms: u64) -> Self {
        self.memory_bytes = memory_bytes;
        self.timeout_ms = timeout_ms;
        self
    }

    /// The manifest: what the plugin says, and what describe adds.
    pub(crate) fn manifest(&self, d: &Description) -> Json {
        let mut j = Json::new();
        j.begin_object().key("abi").string("reshost_v1").key("name").string(&self.name);
        member(&mut j, "version", &self.version);
        j.key("schemes").begin_array();
        for s in &self.schemes {
            j.string(s);
        }
        j.end_array().key("resources").begin_array();
        for r in self.resources.iter().chain(&d.resources) {
            r.describe(&mut j);
        }
        j.end_array().key("list").bool(self.list.is_some()).key("templates").begin_array();
        for t in &self.templates {
            t.describe(&mut j);
        }
        for t in &d.templates {
            t.describe(&mut j);
        }
        j.end_array();
        self.describe_needs(&mut j);
        j.end_object();
        j
    }

    fn describe_needs(&self, j: &mut Json) {
        j.key("capabilities").begin_array();
        for c in &self.capabilities {
            j.begin_object().key("name").string(&c.name).key("reason").string(&c.reason).key("optional").bool(c.optional);
            j.end_object();
        }
        j.end_array();
        member(j, "isolation", &self.isolation);
        j.key("limits").begin_object();
        if self.memory_bytes > 0 {
            j.key("memory").raw(&self.memory_bytes.to_string());
        }
        if self.timeout_ms > 0 {
            j.key("timeout_ms").raw(&self.timeout_ms.to_string());
        }
        j.end_object().key("dynamic").bool(self.describe.is_some());
        if let Some((every_ms, _)) = self.poll {
            j.key("poll_ms").raw(&every_ms.to_string());
        }
        member_raw(j, "config_schema", &self.config_schema);
    }
}

fn member(j: &mut Json, key: &str, value: &str) {
    if !value.is_empty() {
        j.key(key).string(value);
    }
}

fn member_raw(j: &mut Json, key: &str, value: &str) {
    if !value.is_empty() {
        j.key(key).raw(value);
    }
}

/// What resources and templates have in common.
#[derive(Clone, Debug, Default)]
struct Entry {
    name: Text,
    title: Text,
    description: Text,
    mime: Text,
    annotations: Text,
    icons: Text,
    meta: Text,
}

impl Entry {
    fn describe(&self, j: &mut Json) {
        member(j, "name", &self.name);
        member(j, "title", &self.title);
        member(j, "description", &self.description);
        member(j, "mimeType", &self.mime);
        member_raw(j, "annotations", &self.annotations);
        member_raw(j, "icons", &self.icons);
        member_raw(j, "_meta", &self.meta);
    }
}

macro_rules! entry_methods {
    () => {
        /// A title for people.
        pub fn title(mut self, title: impl Into<Text>) -> Self {
            self.entry.title = title.into();
            self
        }

        /// What it is.
        pub fn description(mut self, description: impl Into<Text>) -> Self {
            self.entry.description = description.into();
            self
        }

        /// The media type.
        pub fn mime(mut self, mime: impl Into<Text>) -> Self {
            self.entry.mime = mime.into();
            self
        }

        /// A JSON object: `audience`, `priority`, `lastModified`.
        pub fn annotations(mut self, json: impl Into<Text>) -> Self {
            self.entry.annotations = json.into();
            self
        }

        /// A JSON array of icons.
        pub fn icons(mut self, json: impl Into<Text>) -> Self {
            self.entry.icons = json.into();
            self
        }

        /// A JSON object for `_meta`.
        pub fn meta(mut self, json: impl Into<Text>) -> Self {
            self.entry.meta = json.into();
            self
        }
    };
}

/// A resource: a direct one, or an item of a list.
#[derive(Clone, Debug)]
pub struct Resource {
    pub(crate) uri: Text,
    size: Option<u64>,
    entry: Entry,
}

impl Resource {
    /// A resource with a URI and a name.
    pub fn new(uri: impl Into<Text>, name: impl Into<Text>) -> Self {
        Resource { uri: uri.into(), size: None, entry: Entry { name: name.into(), ..Entry::default() } }
    }

    entry_methods!();

    /// The size in bytes.
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    pub(crate) fn mime_type(&self) -> &str {
        &self.entry.mime
    }

    pub(crate) fn record(&self) -> Message {
        let mut m = Message::default();
        let e = &self.entry;
        m.text(1, &self.uri).text(2, &e.name).text(3, &e.title).text(4, &e.description).text(5, &e.mime);
        m.uint(6, self.size.map_or(0, |n| n + 1)).text(7, &e.annotations).text(8, &e.icons).text(9, &e.meta);
        m
    }

    fn describe(&self, j: &mut Json) {
        j.begin_object().key("uri").string(&self.uri);
        self.entry.describe(j);
        if let Some(n) = self.size {
            j.key("size").raw(&n.to_string());
        }
        j.end_object();
    }
}

/// A set of resources by an RFC 6570 template.
pub struct Template<T> {
    pub(crate) uri_template: Text,
    pub(crate) vars: Vec<Var<T>>,
    pub(crate) read: Option<ReadFn<T>>,
    entry: Entry,
}

impl<T> Template<T> {
    /// A template with a name.
    pub fn new(uri_template: impl Into<Text>, name: impl Into<Text>) -> Self {
        Template {
            uri_template: uri_template.into(),
            vars: Vec::new(),
            read: None,
            entry: Entry { name: name.into(), ..Entry::default() },
        }
    }

    entry_methods!();

    /// Declares a variable. What is declared is exactly what the template names.
    pub fn var(mut self, v: Var<T>) -> Self {
        self.vars.push(v);
        self
    }

    /// What reads the resources that match.
    pub fn read(mut self, read: ReadFn<T>) -> Self {
        self.read = Some(read);
        self
    }

    pub(crate) fn mime_type(&self) -> &str {
        &self.entry.mime
    }

    fn describe(&self, j: &mut Json) {
        j.begin_object().key("uriTemplate").string(&self.uri_template);
        self.entry.describe(j);
        j.key("vars").begin_object();
        for v in &self.vars {
            j.key(&v.name).begin_object();
            if v.slash {
                j.key("slash").bool(true);
            }
            if v.complete.is_some() || v.completes {
                j.key("complete").bool(true);
            }
            j.end_object();
        }
        j.end_object().end_object();
    }
}

/// A variable of a template.
pub struct Var<T> {
    pub(crate) name: Text,
    pub(crate) complete: Option<CompleteFn<T>>,
    completes: bool,
    slash: bool,
}

impl<T> Var<T> {
    /// A variable of that name.
    pub fn new(name: impl Into<Text>) -> Self {
        Var { name: name.into(), complete: None, completes: false, slash: false }
    }

    /// Proposes values for it.
    pub fn complete(mut self, complete: CompleteFn<T>) -> Self {
        self.complete = Some(complete);
        self
    }

    /// Admits `/`, `\`, `..` and control characters in its values.
    pub fn slash(mut self) -> Self {
        self.slash = true;
        self
    }
}

/// Something outside the sandbox that a plugin asks for: `fs`, `http`, `kv`.
#[derive(Clone, Debug)]
pub struct Capability {
    name: Text,
    reason: Text,
    optional: bool,
}

impl Capability {
    /// A capability, and in a sentence why the plugin wants it.
    pub fn new(name: impl Into<Text>, reason: impl Into<Text>) -> Self {
        Capability { name: name.into(), reason: reason.into(), optional: false }
    }

    /// Without the grant the plugin loads, and the functions answer [`Code::Denied`](crate::Code::Denied).
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

/// Collects what describe adds.
#[derive(Default)]
pub struct Description {
    resources: Vec<Resource>,
    templates: Vec<Template<()>>,
}

impl Description {
    /// Adds a direct resource.
    pub fn resource(&mut self, r: Resource) {
        self.resources.push(r);
    }

    /// Adds a template with its variables; `completed` are those that [`Plugin::dynamic_complete`] completes.
    pub fn template(&mut self, mut t: Template<()>, completed: &[&str]) {
        for v in &mut t.vars {
            v.completes = completed.contains(&&*v.name);
        }
        self.templates.push(t);
    }
}

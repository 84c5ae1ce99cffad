package reshost

import "github.com/reshost/reshost/abi"

// Description collects what [Dynamic.Describe] adds.
type Description struct {
	resources []Resource
	templates []Template
}

// AddResource adds a direct resource.
func (d *Description) AddResource(r Resource) { d.resources = append(d.resources, r) }

// AddTemplate adds a template.
func (d *Description) AddTemplate(t Template) { d.templates = append(d.templates, t) }

// manifest writes the manifest: what p says, and what d adds.
func (p *Plugin) manifest(d *Description) []byte {
	var j JSON
	j.BeginObject()
	j.Key(abi.KeyABI).String(abi.Version)
	j.Key(abi.KeyMinMinor).Int(minMinor)
	j.Key(abi.KeyName).String(p.Name)
	optional(&j, abi.KeyVersion, p.Version)
	stringArray(&j, abi.KeySchemes, p.Schemes)
	j.Key(abi.KeyResources).BeginArray()
	appendResources(&j, p.Resources)
	appendResources(&j, d.resources)
	j.EndArray()
	if p.List != nil {
		j.Key(abi.KeyList).Bool(true)
	}
	j.Key(abi.KeyTemplates).BeginArray()
	appendTemplates(&j, p.Templates)
	appendTemplates(&j, d.templates)
	j.EndArray()
	p.appendNeeds(&j)
	if p.Dynamic != nil {
		j.Key(abi.KeyDynamic).Bool(true)
	}
	if p.Poll != nil {
		j.Key(abi.KeyPollMillis).Int(p.PollMillis)
	}
	if p.ConfigSchema != "" {
		j.Key(abi.KeyConfigSchema).Raw(p.ConfigSchema)
	}
	j.EndObject()
	return j.Bytes()
}

// minMinor is the minor version without which the SDK's guests do not work.
const minMinor = 0

func (p *Plugin) appendNeeds(j *JSON) {
	if len(p.Capabilities) > 0 {
		j.Key(abi.KeyCapabilities).BeginArray()
		for i := range p.Capabilities {
			c := &p.Capabilities[i]
			j.BeginObject()
			j.Key(abi.KeyName).String(c.Name)
			j.Key(abi.KeyReason).String(c.Reason)
			if c.Optional {
				j.Key(abi.KeyOptional).Bool(true)
			}
			j.EndObject()
		}
		j.EndArray()
	}
	optional(j, abi.KeyIsolation, p.Isolation)
	if p.MemoryBytes > 0 || p.TimeoutMillis > 0 {
		j.Key(abi.KeyLimits).BeginObject()
		if p.MemoryBytes > 0 {
			j.Key(abi.KeyMemory).Int(p.MemoryBytes)
		}
		if p.TimeoutMillis > 0 {
			j.Key(abi.KeyTimeoutMillis).Int(p.TimeoutMillis)
		}
		j.EndObject()
	}
}

func stringArray(j *JSON, key string, list []string) {
	j.Key(key).BeginArray()
	for _, s := range list {
		j.String(s)
	}
	j.EndArray()
}

func appendResources(j *JSON, list []Resource) {
	for i := range list {
		r := &list[i]
		j.BeginObject()
		j.Key(abi.KeyURI).String(r.URI)
		appendCommon(j, r.Name, r.Title, r.Description, r.MIMEType)
		if n, ok := abi.Optional(r.Size).Get(); ok {
			j.Key(abi.KeySize).Int(int64(n))
		}
		appendExtras(j, r.Annotations, r.Icons, r.Meta)
		j.EndObject()
	}
}

func appendTemplates(j *JSON, list []Template) {
	for i := range list {
		t := &list[i]
		j.BeginObject()
		j.Key(abi.KeyURITemplate).String(t.URITemplate)
		appendCommon(j, t.Name, t.Title, t.Description, t.MIMEType)
		appendExtras(j, t.Annotations, t.Icons, t.Meta)
		j.Key(abi.KeyVars).BeginObject()
		for _, v := range t.Vars {
			j.Key(v.Name).BeginObject()
			if v.Slash {
				j.Key(abi.KeySlash).Bool(true)
			}
			if v.Complete != nil {
				j.Key(abi.KeyComplete).Bool(true)
			}
			j.EndObject()
		}
		j.EndObject()
		j.EndObject()
	}
}

func appendCommon(j *JSON, name, title, description, mime string) {
	j.Key(abi.KeyName).String(name)
	optional(j, abi.KeyTitle, title)
	optional(j, abi.KeyDescription, description)
	optional(j, abi.KeyMIMEType, mime)
}

func appendExtras(j *JSON, a *Annotations, icons []Icon, meta string) {
	if a != nil {
		j.Key(abi.KeyAnnotations)
		a.appendTo(j)
	}
	if len(icons) > 0 {
		j.Key(abi.KeyIcons)
		appendIcons(j, icons)
	}
	if meta != "" {
		j.Key(abi.KeyMeta).Raw(meta)
	}
}

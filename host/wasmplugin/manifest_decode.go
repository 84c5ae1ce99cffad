package wasmplugin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/internal/uritemplate"
	"github.com/reshost/reshost/host/provider"
)

// maxManifestDepth bounds the nesting of a manifest: a JSON Schema may be deep.
const maxManifestDepth = 64

// ReadManifest returns the manifest of a module without compiling or running anything. A module that has none is named
// for what it is, where that can be told.
func ReadManifest(wasm []byte) (*Manifest, error) {
	m, err := scanModule(wasm)
	if err != nil {
		return nil, err
	}
	return m.readManifest()
}

func (m *moduleInfo) readManifest() (*Manifest, error) {
	if m.manifest == nil {
		return nil, m.foreign()
	}
	man, err := parseManifest(m.manifest)
	if err != nil {
		return nil, fmt.Errorf("manifest (section %q): %w", manifestSection, err)
	}
	return man, nil
}

// foreign says what a module without a manifest is.
func (m *moduleInfo) foreign() error {
	_, describes := m.export(abi.ExportDescribe)
	_, command := m.export(abi.ExportStart)
	for _, i := range m.imports {
		if strings.HasPrefix(i.module, "extism:") {
			return errors.New("this is a plugin for Extism, not for reshost")
		}
		if strings.HasPrefix(i.module, "http_handler") {
			return errors.New("this is a handler for http-wasm, not for reshost")
		}
	}
	switch {
	case describes:
		return fmt.Errorf("the module has no section %q: run `reshost plugin pack` on it", manifestSection)
	case command:
		return fmt.Errorf("this is a WASI command (it exports %s), not a plugin: build it as a reactor, with Go by -buildmode=c-shared", abi.ExportStart)
	}
	return fmt.Errorf("the module has no section %q and no export %s: it is not a reshost plugin", manifestSection, abi.ExportDescribe)
}

// manifestJSON is the manifest as it is written.
type manifestJSON struct {
	ABI          string           `json:"abi"`
	MinMinor     int              `json:"min_minor"`
	Name         string           `json:"name"`
	Version      string           `json:"version"`
	Schemes      []string         `json:"schemes"`
	Resources    []resourceJSON   `json:"resources"`
	List         bool             `json:"list"`
	Templates    []templateJSON   `json:"templates"`
	Capabilities []capabilityJSON `json:"capabilities"`
	Limits       limitsJSON       `json:"limits"`
	Isolation    string           `json:"isolation"`
	Dynamic      bool             `json:"dynamic"`
	PollMillis   int64            `json:"poll_ms"`
	ConfigSchema jsontext.Value   `json:"config_schema"`

	Unknown map[string]jsontext.Value `json:",embed"`
}

type resourceJSON struct {
	URI         string           `json:"uri"`
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	MIMEType    string           `json:"mimeType"`
	Size        *int64           `json:"size"`
	Icons       []iconJSON       `json:"icons"`
	Annotations *annotationsJSON `json:"annotations"`
	Meta        jsontext.Value   `json:"_meta"`

	Unknown map[string]jsontext.Value `json:",embed"`
}

type templateJSON struct {
	URITemplate string             `json:"uriTemplate"`
	Name        string             `json:"name"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	MIMEType    string             `json:"mimeType"`
	Icons       []iconJSON         `json:"icons"`
	Annotations *annotationsJSON   `json:"annotations"`
	Meta        jsontext.Value     `json:"_meta"`
	Vars        map[string]varJSON `json:"vars"`

	Unknown map[string]jsontext.Value `json:",embed"`
}

type varJSON struct {
	Slash    bool `json:"slash"`
	Complete bool `json:"complete"`

	Unknown map[string]jsontext.Value `json:",embed"`
}

type capabilityJSON struct {
	Name     string `json:"name"`
	Reason   string `json:"reason"`
	Optional bool   `json:"optional"`

	Unknown map[string]jsontext.Value `json:",embed"`
}

type limitsJSON struct {
	Memory        int64 `json:"memory"`
	TimeoutMillis int64 `json:"timeout_ms"`

	Unknown map[string]jsontext.Value `json:",embed"`
}

// onlyExtensions refuses unknown members but those that begin with "x-".
func onlyExtensions(where string, unknown map[string]jsontext.Value) error {
	for name := range unknown {
		if !strings.HasPrefix(name, abi.KeyExtensionPrefix) {
			return fmt.Errorf("%sunknown key %.64q", where, name)
		}
	}
	return nil
}

// parseManifest decodes and checks a manifest's text.
func parseManifest(b []byte) (*Manifest, error) {
	if len(b) > maxManifest {
		return nil, fmt.Errorf("%d bytes, more than the limit of %d", len(b), maxManifest)
	}
	if err := checkVersion(b); err != nil {
		return nil, err
	}
	var j manifestJSON
	if err := decodeStrict(b, &j, maxManifestDepth, false); err != nil {
		return nil, err
	}
	if err := onlyExtensions("", j.Unknown); err != nil {
		return nil, err
	}
	return j.manifest()
}

// checkVersion reads the version alone, before the rest is held to rules that may be another version's.
func checkVersion(b []byte) error {
	var v struct {
		ABI      string `json:"abi"`
		MinMinor int    `json:"min_minor"`
	}
	if err := decodeStrict(b, &v, maxManifestDepth, false); err != nil {
		return err
	}
	n, isNumber := strings.CutPrefix(v.ABI, "reshost_v")
	major, err := strconv.Atoi(n)
	switch {
	case v.ABI == "":
		return fmt.Errorf("%q is missing; it must be %q", abi.KeyABI, abi.Version)
	case v.ABI != abi.Version && isNumber && err == nil && major > 1:
		return fmt.Errorf("the plugin is built for ABI %.32q, which is newer than this host's %q: update the host", v.ABI, abi.Version)
	case v.ABI != abi.Version:
		return fmt.Errorf("%q is %.32q; this host speaks %q", abi.KeyABI, v.ABI, abi.Version)
	case v.MinMinor > abi.Minor:
		return fmt.Errorf("the plugin needs minor version %d of %s, this host has %d: update the host", v.MinMinor, abi.Version, abi.Minor)
	case v.MinMinor < 0:
		return fmt.Errorf("%q is negative", abi.KeyMinMinor)
	}
	return nil
}

func (j *manifestJSON) manifest() (*Manifest, error) {
	m := &Manifest{
		ABI: j.ABI, MinMinor: j.MinMinor, Name: j.Name, Version: j.Version, Schemes: j.Schemes, List: j.List,
		Isolation: j.Isolation, Dynamic: j.Dynamic, Poll: time.Duration(j.PollMillis) * time.Millisecond,
		ConfigSchema: provider.JSON(j.ConfigSchema),
	}
	if !validName(j.Name) {
		return nil, fmt.Errorf("%q is %.80q; it must be 1 to 64 letters, digits, '-', '_' or '.'", abi.KeyName, j.Name)
	}
	if err := checkSchemes(j.Schemes); err != nil {
		return nil, err
	}
	if err := j.resources(m); err != nil {
		return nil, err
	}
	if err := j.templates(m); err != nil {
		return nil, err
	}
	if err := j.capabilities(m); err != nil {
		return nil, err
	}
	switch j.Isolation {
	case "", abi.IsolationReset, abi.IsolationFresh, abi.IsolationShared:
	default:
		return nil, fmt.Errorf("%q is %.32q; it must be reset, fresh or shared", abi.KeyIsolation, j.Isolation)
	}
	if j.PollMillis < 0 || j.PollMillis > int64(24*time.Hour/time.Millisecond) {
		return nil, fmt.Errorf("%q is %d; it must be from 0 to a day", abi.KeyPollMillis, j.PollMillis)
	}
	if err := onlyExtensions("limits: ", j.Limits.Unknown); err != nil {
		return nil, err
	}
	if j.Limits.Memory < 0 || j.Limits.TimeoutMillis < 0 || j.Limits.TimeoutMillis > int64(24*time.Hour/time.Millisecond) {
		return nil, fmt.Errorf("%q holds a negative or absurd number", abi.KeyLimits)
	}
	m.Limits = ManifestLimits{Memory: j.Limits.Memory, Timeout: time.Duration(j.Limits.TimeoutMillis) * time.Millisecond}
	if j.ConfigSchema != nil && j.ConfigSchema.Kind() != '{' {
		return nil, fmt.Errorf("%q is not an object", abi.KeyConfigSchema)
	}
	return m, nil
}

func (j *manifestJSON) resources(m *Manifest) error {
	seen := map[string]bool{}
	for i := range j.Resources {
		r, err := j.Resources[i].resource(j.Schemes)
		if err != nil {
			return fmt.Errorf("%s[%d]: %w", abi.KeyResources, i, err)
		}
		u, _ := uri.Parse(r.URI)
		if key := u.FoldAuthority().String(); seen[key] {
			return fmt.Errorf("%s[%d]: %q stands there twice", abi.KeyResources, i, r.URI)
		} else {
			seen[key] = true
		}
		m.Resources = append(m.Resources, r)
	}
	return nil
}

func (r *resourceJSON) resource(schemes []string) (provider.Resource, error) {
	out := provider.Resource{
		URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Size: r.Size,
	}
	if err := onlyExtensions("", r.Unknown); err != nil {
		return out, err
	}
	u, err := uri.Parse(r.URI)
	if err != nil {
		return out, fmt.Errorf("%q %.128q: %w", abi.KeyURI, r.URI, err)
	}
	if err := schemeNamed(u.Scheme, schemes); err != nil {
		return out, fmt.Errorf("%q: %w", r.URI, err)
	}
	if r.Size != nil && *r.Size < 0 {
		return out, fmt.Errorf("%q: the size is negative", r.URI)
	}
	c, err := commonEntry(r.URI, r.Name, r.MIMEType, r.Icons, r.Annotations, r.Meta)
	out.Icons, out.Annotations, out.Meta = c.icons, c.annotations, c.meta
	return out, err
}

func (j *manifestJSON) templates(m *Manifest) error {
	seen := map[string]bool{}
	for i := range j.Templates {
		t, err := j.Templates[i].template(j.Schemes)
		if err != nil {
			return fmt.Errorf("%s[%d]: %w", abi.KeyTemplates, i, err)
		}
		if seen[t.URITemplate] {
			return fmt.Errorf("%s[%d]: %q stands there twice", abi.KeyTemplates, i, t.URITemplate)
		}
		seen[t.URITemplate] = true
		m.Templates = append(m.Templates, t)
	}
	return nil
}

func (t *templateJSON) template(schemes []string) (provider.Template, error) {
	out := provider.Template{
		URITemplate: t.URITemplate, Name: t.Name, Title: t.Title, Description: t.Description, MIMEType: t.MIMEType,
	}
	if err := onlyExtensions("", t.Unknown); err != nil {
		return out, err
	}
	parsed, err := uritemplate.Parse(t.URITemplate)
	if err != nil {
		return out, fmt.Errorf("%q %.128q: %w", abi.KeyURITemplate, t.URITemplate, err)
	}
	scheme, _, ok := strings.Cut(t.URITemplate, ":")
	if !ok || !validScheme(strings.ToLower(scheme)) {
		return out, fmt.Errorf("%q: a template begins with a literal scheme", t.URITemplate)
	}
	if err := schemeNamed(strings.ToLower(scheme), schemes); err != nil {
		return out, fmt.Errorf("%q: %w", t.URITemplate, err)
	}
	c, err := commonEntry(t.URITemplate, t.Name, t.MIMEType, t.Icons, t.Annotations, t.Meta)
	if err != nil {
		return out, err
	}
	out.Icons, out.Annotations, out.Meta = c.icons, c.annotations, c.meta
	out.Vars, err = t.vars(parsed)
	return out, err
}

// vars compares the variables that the handler takes with the template's.
func (t *templateJSON) vars(parsed *uritemplate.Template) ([]provider.TemplateVar, error) {
	var out []provider.TemplateVar
	have := map[string]bool{}
	for _, name := range parsed.Vars() {
		v, ok := t.Vars[name]
		if !ok {
			return nil, fmt.Errorf("%q: the handler does not take the variable %q (it is not in %q)", t.URITemplate, name, abi.KeyVars)
		}
		if err := onlyExtensions(abi.KeyVars+": "+name+": ", v.Unknown); err != nil {
			return nil, err
		}
		have[name] = true
		out = append(out, provider.TemplateVar{Name: name, Slash: v.Slash, Complete: v.Complete})
	}
	for name := range t.Vars {
		if !have[name] {
			return nil, fmt.Errorf("%q: the handler takes a variable %.64q, which the template does not have", t.URITemplate, name)
		}
	}
	return out, nil
}

// entryExtras are what resources and templates share beyond texts.
type entryExtras struct {
	icons       []provider.Icon
	annotations *provider.Annotations
	meta        provider.JSON
}

func commonEntry(what, name, mimeType string, list []iconJSON, a *annotationsJSON, meta jsontext.Value) (e entryExtras, err error) {
	if name == "" {
		return e, fmt.Errorf("%q: %q is missing", what, abi.KeyName)
	}
	if mimeType != "" && !validMediaType(mimeType) {
		return e, fmt.Errorf("%q: %.64q is not a media type", what, mimeType)
	}
	if e.icons, err = icons(list); err != nil {
		return e, fmt.Errorf("%q: %w", what, err)
	}
	if e.annotations, err = a.annotations(); err != nil {
		return e, fmt.Errorf("%q: %w", what, err)
	}
	var dropped []string
	if e.meta, dropped, err = strictMeta(string(meta)); err != nil {
		return e, fmt.Errorf("%q: %w", what, err)
	}
	if len(dropped) > 0 {
		return e, fmt.Errorf("%q: the key %.64q of _meta is reserved or malformed", what, dropped[0])
	}
	return e, nil
}

func (j *manifestJSON) capabilities(m *Manifest) error {
	seen := map[string]bool{}
	for i, c := range j.Capabilities {
		if err := onlyExtensions(fmt.Sprintf("%s[%d]: ", abi.KeyCapabilities, i), c.Unknown); err != nil {
			return err
		}
		if !validCapability(c.Name) {
			return fmt.Errorf("%s[%d]: %.64q is not a capability's name", abi.KeyCapabilities, i, c.Name)
		}
		if seen[c.Name] {
			return fmt.Errorf("%s[%d]: %q stands there twice", abi.KeyCapabilities, i, c.Name)
		}
		seen[c.Name] = true
		m.Capabilities = append(m.Capabilities, Capability{Name: c.Name, Reason: c.Reason, Optional: c.Optional})
	}
	return nil
}

func checkSchemes(schemes []string) error {
	if len(schemes) == 0 {
		return fmt.Errorf("%q is missing: a plugin serves at least one scheme", abi.KeySchemes)
	}
	seen := map[string]bool{}
	for _, s := range schemes {
		if s != abi.AnyScheme && !validScheme(s) {
			return fmt.Errorf("%s: %.64q is not a scheme in lower case", abi.KeySchemes, s)
		}
		if seen[s] {
			return fmt.Errorf("%s: %q stands there twice", abi.KeySchemes, s)
		}
		seen[s] = true
	}
	return nil
}

func schemeNamed(scheme string, schemes []string) error {
	for _, s := range schemes {
		if s == scheme {
			return nil
		}
	}
	return fmt.Errorf("the scheme %q is not in %q", scheme, abi.KeySchemes)
}

// validScheme is RFC 3986 section 3.1, in lower case.
func validScheme(s string) bool {
	if s == "" || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// validName is the rule for names of plugins and of granted folders.
func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' && s[i] != '_' && s[i] != '.' {
			return false
		}
	}
	return true
}

func validCapability(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

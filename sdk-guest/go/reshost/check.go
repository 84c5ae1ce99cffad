package reshost

// Check reports the first mistake in the registration, and nil when there is none. It runs when the plugin is packed and when
// it is loaded; a test that calls it meets the mistake before that.
func (p *Plugin) Check() error {
	if p == nil {
		return Invalid("no plugin is registered")
	}
	if !validName(p.Name) {
		return Invalid("plugin name " + quote(p.Name) + ": want 1 to 64 letters, digits, '-', '_' or '.'")
	}
	if len(p.Schemes) == 0 {
		return Invalid("plugin " + p.Name + ": no scheme")
	}
	for _, s := range p.Schemes {
		if s != anyScheme && !validScheme(s) {
			return Invalid("scheme " + quote(s) + ": want a lower-case letter, then lower-case letters, digits, '+', '-' or '.'")
		}
	}
	switch p.Isolation {
	case "", isolationReset, isolationShared, isolationFresh:
	default:
		return Invalid("isolation " + quote(p.Isolation) + ": want reset, shared or fresh")
	}
	if (p.Poll != nil) != (p.PollMillis > 0) {
		return Invalid("Poll and PollMillis: one is set without the other")
	}
	if p.Dynamic != nil && (p.Dynamic.Describe == nil || p.Dynamic.Read == nil) {
		return Invalid("Dynamic: Describe and Read are required")
	}
	if err := p.checkCapabilities(); err != nil {
		return err
	}
	return p.checkEntries(p.Resources, p.Templates, true)
}

func (p *Plugin) checkCapabilities() error {
	for i := range p.Capabilities {
		c := &p.Capabilities[i]
		if !validName(c.Name) {
			return Invalid("capability " + quote(c.Name) + ": not a name")
		}
		if c.Reason == "" {
			return Invalid("capability " + c.Name + ": Reason is required")
		}
		for j := range i {
			if p.Capabilities[j].Name == c.Name {
				return Invalid("capability " + c.Name + ": declared twice")
			}
		}
	}
	return nil
}

// checkEntries checks resources and templates; handlers says that they must have their own.
func (p *Plugin) checkEntries(resources []Resource, templates []Template, handlers bool) error {
	for i := range resources {
		r := &resources[i]
		if err := p.checkURI(r.URI); err != nil {
			return err
		}
		if r.Name == "" {
			return Invalid("resource " + r.URI + ": Name is required")
		}
		if handlers && r.Read == nil {
			return Invalid("resource " + r.URI + ": Read is required")
		}
		for j := range i {
			if resources[j].URI == r.URI {
				return Invalid("resource " + r.URI + ": registered twice")
			}
		}
	}
	for i := range templates {
		t := &templates[i]
		if err := p.checkTemplate(t); err != nil {
			return Invalid("template " + t.URITemplate + ": " + err.Error())
		}
		if handlers && t.Read == nil {
			return Invalid("template " + t.URITemplate + ": Read is required")
		}
		for j := range i {
			if templates[j].URITemplate == t.URITemplate {
				return Invalid("template " + t.URITemplate + ": registered twice")
			}
		}
	}
	return nil
}

// checkTemplate compares the variables that the template names with those that its handler takes.
func (p *Plugin) checkTemplate(t *Template) error {
	if t.Name == "" {
		return Invalid("Name is required")
	}
	if err := p.checkScheme(t.URITemplate); err != nil {
		return err
	}
	names, err := templateVars(t.URITemplate)
	if err != nil {
		return err
	}
	for _, n := range names {
		if !declares(t.Vars, n) {
			return Invalid("variable " + quote(n) + " is not in Vars: the handler does not take it")
		}
	}
	for i := range t.Vars {
		name := t.Vars[i].Name
		found := false
		for _, n := range names {
			found = found || n == name
		}
		if !found {
			return Invalid("variable " + quote(name) + " is in Vars but not in the template")
		}
		if declares(t.Vars[:i], name) {
			return Invalid("variable " + quote(name) + " is in Vars twice")
		}
	}
	return nil
}

// checkScheme reports whether uri begins with one of the plugin's schemes.
func (p *Plugin) checkScheme(uri string) error {
	scheme := schemeOf(uri)
	if scheme == "" {
		return Invalid("no scheme")
	}
	for _, s := range p.Schemes {
		if s == scheme || s == anyScheme {
			return nil
		}
	}
	return Invalid("scheme " + quote(scheme) + " is not in Schemes")
}

// checkURI reports what keeps a direct resource's URI from ever being equal to a request's, which the host normalises.
func (p *Plugin) checkURI(uri string) error {
	if err := p.checkScheme(uri); err != nil {
		return Invalid("resource " + quote(uri) + ": " + err.Error())
	}
	rest := uri[len(schemeOf(uri))+1:]
	authority := len(rest) > 1 && rest[:2] == "//"
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		if i > 1 && (c == '/' || c == '?') {
			authority = false
		}
		switch {
		case c == '%':
			if fault := tripletFault(rest[i:]); fault != "" {
				return Invalid("resource " + uri + ": " + fault)
			}
			i += 2
		case c == '#':
			return Invalid("resource " + uri + ": a fragment is not part of a resource's URI")
		case c == '@' && authority:
			return Invalid("resource " + uri + ": a user in the authority is not served")
		case 'A' <= c && c <= 'Z' && authority:
			return Invalid("resource " + uri + ": write the authority in lower case")
		case c != '?' && c != '[' && c != ']' && !plain(c, true):
			return Invalid("resource " + quote(uri) + ": percent-encode " + quote(rest[i:i+1]))
		}
	}
	if hasDotSegment(rest) {
		return Invalid("resource " + uri + ": '.' and '..' segments never reach a plugin")
	}
	return nil
}

// tripletFault says what is wrong with the percent-encoded byte that s begins with.
func tripletFault(s string) string {
	if len(s) < 3 {
		return "an incomplete % triplet"
	}
	v := 0
	for _, c := range []byte(s[1:3]) {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | int(c-'0')
		case 'A' <= c && c <= 'F':
			v = v<<4 | int(c-'A'+10)
		case 'a' <= c && c <= 'f':
			return "write % triplets in upper case"
		default:
			return "a % without two hexadecimal digits"
		}
	}
	if unreserved(byte(v)) {
		return "write " + quote(string(rune(v))) + " in place of " + s[:3]
	}
	return ""
}

// hasDotSegment looks for "." and ".." between slashes, before a query.
func hasDotSegment(s string) bool {
	start := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '/' && s[i] != '?' {
			continue
		}
		if seg := s[start:i]; seg == "." || seg == ".." {
			return true
		}
		if i < len(s) && s[i] == '?' {
			return false
		}
		start = i + 1
	}
	return false
}

// schemeOf returns what stands before the first ':' if it is a scheme, else "".
func schemeOf(uri string) string {
	for i := range len(uri) {
		if uri[i] == ':' {
			if validScheme(uri[:i]) {
				return uri[:i]
			}
			break
		}
	}
	return ""
}

func validScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

func validName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !unreserved(c) || c == '~' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

package reshost

// templateVars returns the names of a template's variables (RFC 6570), each once. It knows the syntax; whether a template can
// be matched is for the loader to say.
func templateVars(t string) ([]string, error) {
	var names []string
	for i := 0; i < len(t); i++ {
		switch t[i] {
		case '}':
			return nil, Invalid("a '}' without '{'")
		case '{':
			end := i + 1
			for end < len(t) && t[end] != '}' && t[end] != '{' {
				end++
			}
			if end == len(t) || t[end] == '{' {
				return nil, Invalid("a '{' without '}'")
			}
			var err error
			if names, err = expressionVars(names, t[i+1:end]); err != nil {
				return nil, err
			}
			i = end
		}
	}
	return names, nil
}

// expressionVars adds the names of one expression, the text between '{' and '}'.
func expressionVars(names []string, e string) ([]string, error) {
	text := "{" + e + "}"
	if e != "" {
		switch e[0] {
		case '+', '.', '/', ';', '?', '&':
			e = e[1:]
		case '#':
			return nil, Invalid(text + ": a fragment is not part of a resource's URI")
		case '=', ',', '!', '@', '|':
			return nil, Invalid(text + ": an operator that RFC 6570 reserves")
		}
	}
	start := 0
	for i := 0; i <= len(e); i++ {
		if i < len(e) && e[i] != ',' {
			continue
		}
		name := e[start:i]
		start = i + 1
		if n := len(name); n > 0 && name[n-1] == '*' {
			name = name[:n-1]
		}
		if !validVar(name) {
			return nil, Invalid(text + ": " + quote(name) + " is not a variable's name")
		}
		for _, n := range names {
			if n == name {
				return nil, Invalid(text + ": " + quote(name) + " appears twice")
			}
		}
		names = append(names, name)
	}
	return names, nil
}

// validVar reports whether s is a variable name (RFC 6570 section 2.3). A prefix modifier is refused with the rest: no match can
// undo it.
func validVar(s string) bool {
	dot := true
	for i := range len(s) {
		c := s[i]
		switch {
		case letter(c) || '0' <= c && c <= '9' || c == '_':
			dot = false
		case c == '.' && !dot:
			dot = true
		case c == '%' && tripletFault(s[i:]) != "an incomplete % triplet":
			dot = false
		default:
			return false
		}
	}
	return s != "" && !dot
}

package abi

// SQLValue is an argument or a cell, in the form that its kind says.
type SQLValue struct {
	// Kind is one of SQLNull, SQLInt, SQLFloat, SQLText and SQLBytes.
	Kind  uint64
	Value string
}

// SQLQuery is what query of the sql capability takes.
type SQLQuery struct {
	// Connection is the name under which the operator granted a database.
	Connection string
	Text       string
	Args       []SQLValue
}

// Append encodes m at the end of b.
func (m *SQLQuery) Append(b []byte) []byte {
	b = appendString(b, SQLQueryConnection, m.Connection)
	b = appendString(b, SQLQueryText, m.Text)
	return appendValues(b, SQLQueryArgKind, SQLQueryArgValue, m.Args)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *SQLQuery) Decode(s string) error {
	*m = SQLQuery{Args: m.Args[:0]}
	r := reader{rest: s}
	var args values
	for r.next() {
		switch r.field {
		case SQLQueryConnection:
			m.Connection = r.str()
		case SQLQueryText:
			m.Text = r.str()
		case SQLQueryArgKind:
			m.Args = args.kind(&r, m.Args)
		case SQLQueryArgValue:
			m.Args = args.value(&r, m.Args)
		}
	}
	args.done(&r)
	return r.err
}

// SQLColumns is the first answer of row.
type SQLColumns struct {
	// Columns has the name and the database's own type name of each column.
	Columns []Var
}

// Append encodes m at the end of b.
func (m *SQLColumns) Append(b []byte) []byte {
	return appendPairs(b, SQLColumnsName, SQLColumnsType, m.Columns)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *SQLColumns) Decode(s string) error {
	m.Columns = m.Columns[:0]
	r := reader{rest: s}
	var columns pairs
	for r.next() {
		switch r.field {
		case SQLColumnsName:
			m.Columns = columns.name(&r, m.Columns)
		case SQLColumnsType:
			m.Columns = columns.value(&r, m.Columns)
		}
	}
	columns.done(&r)
	return r.err
}

// SQLRow is every further answer of row.
type SQLRow struct{ Values []SQLValue }

// Append encodes m at the end of b.
func (m *SQLRow) Append(b []byte) []byte { return appendValues(b, SQLRowKind, SQLRowValue, m.Values) }

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *SQLRow) Decode(s string) error {
	m.Values = m.Values[:0]
	r := reader{rest: s}
	var cells values
	for r.next() {
		switch r.field {
		case SQLRowKind:
			m.Values = cells.kind(&r, m.Values)
		case SQLRowValue:
			m.Values = cells.value(&r, m.Values)
		}
	}
	cells.done(&r)
	return r.err
}

// appendValues appends kinds and values, pair by pair, zero and empty ones too.
func appendValues(b []byte, kind, value int, list []SQLValue) []byte {
	for i := range list {
		b = appendVarint(b, uint64(kind)<<3|wireVarint)
		b = appendVarint(b, list[i].Kind)
		b = appendElement(b, value, list[i].Value)
	}
	return b
}

// values collects paired kinds and values, as pairs does names and values.
type values struct{ kinds, values int }

func (n *values) kind(r *reader, list []SQLValue) []SQLValue {
	list = n.room(r, list, n.kinds)
	if r.err == nil {
		list[n.kinds].Kind = r.uint()
		n.kinds++
	}
	return list
}

func (n *values) value(r *reader, list []SQLValue) []SQLValue {
	list = n.room(r, list, n.values)
	if r.err == nil {
		list[n.values].Value = r.str()
		n.values++
	}
	return list
}

// room makes sure that list[i] exists.
func (n *values) room(r *reader, list []SQLValue, i int) []SQLValue {
	if i >= MaxRepeated {
		r.fail(ErrTooMany)
		return list
	}
	if i < len(list) {
		return list
	}
	return append(list, SQLValue{})
}

func (n *values) done(r *reader) {
	if n.kinds != n.values {
		r.fail(ErrPairs)
	}
}

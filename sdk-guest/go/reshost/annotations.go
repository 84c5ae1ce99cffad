package reshost

import "github.com/reshost/reshost/abi"

func (a *Annotations) appendTo(j *JSON) {
	j.BeginObject()
	if len(a.Audience) > 0 {
		j.Key(abi.KeyAudience).BeginArray()
		for _, s := range a.Audience {
			j.String(s)
		}
		j.EndArray()
	}
	if a.Priority != nil {
		j.Key(abi.KeyPriority).Raw(thousandths(*a.Priority))
	}
	if a.LastModifiedMillis != 0 {
		j.Key(abi.KeyLastModified).Time(a.LastModifiedMillis)
	}
	j.EndObject()
}

func appendIcons(j *JSON, icons []Icon) {
	j.more = false
	j.BeginArray()
	for i := range icons {
		icon := &icons[i]
		j.BeginObject()
		j.Key(abi.KeySrc).String(icon.Src)
		optional(j, abi.KeyMIMEType, icon.MIMEType)
		if len(icon.Sizes) > 0 {
			j.Key(abi.KeySizes).BeginArray()
			for _, s := range icon.Sizes {
				j.String(s)
			}
			j.EndArray()
		}
		optional(j, abi.KeyTheme, icon.Theme)
		j.EndObject()
	}
	j.EndArray()
}

// optional writes a member unless its value is empty.
func optional(j *JSON, key, value string) {
	if value != "" {
		j.Key(key).String(value)
	}
}

// thousandths writes a number from 0 to 1 with up to three decimals. (Exact formatting of floats would add a tenth to a
// small guest.)
func thousandths(f float64) string {
	n := int64(min(max(f, 0), 1)*1000 + 0.5)
	if n%1000 == 0 {
		return itoa(n / 1000)
	}
	text := itoa(1000 + n)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return "0." + text[1:]
}

const (
	minYear = 1
	maxYear = 9999
)

// appendTimestamp writes a time as ISO 8601 in UTC, to the second. Outside the years 1 to 9999 it is cut to them.
func appendTimestamp(b []byte, millis int64) []byte {
	seconds := floorDiv(millis, 1000)
	days := floorDiv(seconds, 86400)
	rest := seconds - days*86400
	year, month, day := civil(days)
	switch {
	case year < minYear:
		year, month, day, rest = minYear, 1, 1, 0
	case year > maxYear:
		year, month, day, rest = maxYear, 12, 31, 86399
	}
	b = appendDigits(b, year, 4)
	b = appendDigits(append(b, '-'), month, 2)
	b = appendDigits(append(b, '-'), day, 2)
	b = appendDigits(append(b, 'T'), rest/3600, 2)
	b = appendDigits(append(b, ':'), rest/60%60, 2)
	b = appendDigits(append(b, ':'), rest%60, 2)
	return append(b, 'Z')
}

// civil turns days since 1970-01-01 into a date of the Gregorian calendar. It counts in years that begin in March, so that
// the leap day is a year's last.
func civil(days int64) (year, month, day int64) {
	const (
		era      = 146097 // days in 400 years
		toMarch0 = 719468 // days from 0000-03-01 to 1970-01-01
	)
	days += toMarch0
	cycle := floorDiv(days, era)
	d := days - cycle*era
	y := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*y + y/4 - y/100
	m := (5*d + 2) / 153
	day = d - (153*m+2)/5 + 1
	month = m + 3
	if month > 12 {
		month -= 12
	}
	year = y + cycle*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// appendDigits writes n, at least 0, with that many digits.
func appendDigits(b []byte, n int64, width int) []byte {
	for unit := pow10(width - 1); unit > 0; unit /= 10 {
		b = append(b, byte('0'+n/unit%10))
	}
	return b
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

package config

import "reflect"

// Differences returns the keys outside `plugins` and `secrets` whose values differ in other, such as "server.listen".
func (c *Config) Differences(other *Config) []string {
	return differences(reflect.ValueOf(c).Elem(), reflect.ValueOf(other).Elem(), "")
}

func differences(a, b reflect.Value, key string) []string {
	var keys []string
	for _, f := range fieldsOf(a.Type()) {
		path := childKey(key, f.key)
		if path == "plugins" || path == "secrets" {
			continue
		}
		x, y := a.Field(f.index), b.Field(f.index)
		switch {
		case x.Kind() == reflect.Struct && shapeOf(x.Type()) == shapeSection:
			keys = append(keys, differences(x, y, path)...)
		case !reflect.DeepEqual(x.Interface(), y.Interface()):
			keys = append(keys, path)
		}
	}
	return keys
}

// KeepGlobals puts the values of other in the place of all but `plugins` and `secrets`.
func (c *Config) KeepGlobals(other *Config) {
	plugins, secrets, file, pos, short := c.Plugins, c.Secrets, c.file, c.pos, c.short
	*c = *other
	c.Plugins, c.Secrets, c.file, c.pos, c.short = plugins, secrets, file, pos, short
}

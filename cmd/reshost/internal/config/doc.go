// Package config reads the one YAML file that reshost is run from. Only cmd/reshost imports it.
//
// The structs of this package are the table of all keys: the decoder, the JSON Schema ([Schema]), the reference page
// ([Reference]) and the printing of a configuration ([Config.Show]) are all driven by the same struct tags, so that they
// cannot disagree.
//
//	cfg, err := config.Load("reshost.yaml", config.OS())
//	if err != nil {
//		return err // an Errors: every fault of the file, each with file, line, column and key
//	}
//
// # Errors
//
// The file is read strictly. An unknown key, a wrong type, a conflict between keys, a key that this build does not
// support yet: each is an [*Error] with its place, and [Load] returns all of them at once as [Errors]. Nothing is
// ignored.
package config

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxFile bounds the size of a configuration file.
const maxFile = 1 << 20

// Environment is what a configuration may look at beyond its own text.
type Environment interface {
	// Getenv returns an environment variable and whether it is set.
	Getenv(name string) (string, bool)
	// ReadFile returns the whole of a regular file, or an error when it holds more than most bytes. The error's text is
	// one line that names the file.
	ReadFile(path string, most int64) ([]byte, error)
}

// OS returns the Environment of the process.
func OS() Environment { return osEnvironment{} }

type osEnvironment struct{}

func (osEnvironment) Getenv(name string) (string, bool) { return os.LookupEnv(name) }

func (osEnvironment) ReadFile(path string, most int64) ([]byte, error) {
	// A named pipe would block the open: look first, and again at what was opened.
	info, err := os.Stat(path)
	if err != nil {
		return nil, plainError(path, err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, not a file", path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, plainError(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, plainError(path, err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s is larger than %v", path, Bytes(most))
	}
	return data, nil
}

// plainError says in words what the system call said.
func plainError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be read: %w", path, fs.ErrPermission)
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Load reads and checks the file at path. Its error is Errors.
func Load(path string, env Environment) (*Config, error) {
	data, err := env.ReadFile(path, maxFile)
	if err != nil {
		return nil, Errors{{File: path, Message: "no configuration: " + err.Error()}}
	}
	return Parse(path, data, env)
}

// Parse is Load for the text of a file; relative paths in it are relative to path's folder.
func Parse(path string, data []byte, env Environment) (*Config, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, Errors{{File: path, Message: err.Error()}}
	}
	d := &decoder{collector: collector{file: path}, dir: dir, pos: make(map[string]Pos)}
	root := d.document(data)
	if root == nil || !d.version(root) {
		return nil, d.err()
	}
	cfg := &Config{file: path, pos: d.pos, short: make(map[string]Pos)}
	d.value(root, reflect.ValueOf(cfg).Elem(), &field{}, "", 0)
	if len(d.errs) == 0 {
		c := checker{collector: &d.collector, cfg: cfg, env: env, dir: dir}
		c.check()
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// document returns the root of the file's only document, or nil.
func (d *decoder) document(data []byte) *yaml.Node {
	if len(data) > maxFile {
		d.add(Pos{}, "", "the file is larger than %v", Bytes(maxFile))
		return nil
	}
	if i := invalidUTF8(data); i >= 0 {
		line := bytes.Count(data[:i], []byte("\n"))
		d.add(Pos{line + 1, i - bytes.LastIndexByte(data[:i], '\n')}, "", "not valid UTF-8: save the file as UTF-8")
		return nil
	}
	d.text = data
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		d.add(Pos{}, "", "the file is empty: begin with version: %d", Version)
		return nil
	} else if err != nil {
		d.syntax(err)
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		d.fault(&second, "", "a second document (---): a configuration is one document")
		return nil
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		d.add(Pos{}, "", "the file is empty: begin with version: %d", Version)
		return nil
	}
	return doc.Content[0]
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// syntax reports what the YAML parser says, as one line with the place it names.
func (d *decoder) syntax(err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		d.add(Pos{}, "", "not YAML: %s", oneLine(err.Error()))
		return
	}
	message := oneLine(load.Message)
	if strings.Contains(message, "tab character") || strings.Contains(message, "cannot start any token") && d.tabAt(load.Mark.Line) {
		d.add(Pos{load.Mark.Line, load.Mark.Column}, "", "a tab in the indentation, which YAML does not take: indent with spaces")
		return
	}
	if load.ContextMsg != "" {
		message = oneLine(load.ContextMsg) + ": " + message
	}
	d.add(Pos{load.Mark.Line, load.Mark.Column}, "", "not YAML: %s", message)
}

// tabAt reports whether the indentation of a line holds a tab.
func (d *decoder) tabAt(line int) bool {
	lines := bytes.Split(d.text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return false
	}
	indent := lines[line-1][:len(lines[line-1])-len(bytes.TrimLeft(lines[line-1], " \t"))]
	return bytes.ContainsRune(indent, '\t')
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// version looks at the file's version before anything else: a file from the future has keys that this build would only
// call unknown.
func (d *decoder) version(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		d.fault(root, "", "want keys and values, got %s: begin with version: %d", describe(root, reflect.TypeFor[Config]()), Version)
		return false
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		n := root.Content[i+1]
		if root.Content[i].Value != "version" || !isInteger(n) {
			continue
		}
		v, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			v = math.MaxInt64
		}
		if v > Version {
			d.fault(n, "version", "this build knows version %d; the file is of version %s: install a newer reshost", Version, clip(n.Value))
			return false
		}
		if v < 1 {
			d.fault(n, "version", "want %d, got %s", Version, clip(n.Value))
			return false
		}
	}
	return true
}

// RootPlugin is the name of the entry that [ForRoot] makes.
const RootPlugin = "files"

// ForRoot returns the configuration of `reshost serve --root dir`: defaults, and builtin:file over the one folder.
func ForRoot(dir string) (*Config, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cfg := &Config{}
	v := reflect.ValueOf(cfg).Elem()
	setDefaults(v, fieldsOf(v.Type()))
	cfg.Version = Version
	cfg.Plugins = []Plugin{{
		Name: RootPlugin, Source: SourceBuiltin + "file",
		Grants: Grants{FS: &FSGrant{Roots: map[string]FSRoot{MainRoot: {Path: Path(abs)}}}},
	}}
	return cfg, nil
}

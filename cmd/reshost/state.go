package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/reshost/reshost/cmd/reshost/internal/atomicfile"
	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

const (
	// keyFile holds the key that seals what clients carry, cursors and states, in base64.
	keyFile = "cursor.key"
	// cacheFolder holds compiled plugins.
	cacheFolder = "compiled"
	keySize     = 32
)

// statePath returns the folder for what survives a restart.
func (a *app) statePath(cfg *config.Config) (string, error) {
	if cfg.StateDir != "" {
		return string(cfg.StateDir), nil
	}
	// systemd sets it where a unit says StateDirectory=; several are separated by colons.
	if dirs, ok := a.env.Getenv("STATE_DIRECTORY"); ok && dirs != "" {
		return filepath.SplitList(dirs)[0], nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", errors.New("no folder to keep state in, since there is no home folder: give --state-dir DIR or state_dir in the configuration")
	}
	return filepath.Join(dir, "reshost"), nil
}

// sealingKeys returns the configured keys, or the one kept in dir, which is made when it is missing.
func sealingKeys(cfg *config.Config, dir string) ([][]byte, error) {
	if len(cfg.Server.Keys) == 0 {
		key, err := storedKey(filepath.Join(dir, keyFile))
		if err != nil && !strings.Contains(err.Error(), "--state-dir") {
			err = fmt.Errorf("%w; give --state-dir DIR, or keys under server in the configuration", err)
		}
		if err != nil {
			return nil, err
		}
		return [][]byte{key}, nil
	}
	keys := make([][]byte, len(cfg.Server.Keys))
	for i, k := range cfg.Server.Keys {
		key, err := config.DecodeKey(k)
		if err != nil {
			return nil, cfg.Errorf(fmt.Sprintf("server.keys[%d]", i), "%v", err)
		}
		keys[i] = key
	}
	return keys, nil
}

// storedKey reads the key at path. Two processes that start at once end with the same key: the file appears whole, and
// only one of them makes it.
func storedKey(path string) ([]byte, error) {
	if err := checkPrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	fresh := make([]byte, keySize)
	if _, err := rand.Read(fresh); err != nil {
		return nil, err
	}
	text := []byte(base64.StdEncoding.EncodeToString(fresh) + "\n")
	if err := atomicfile.Create(path, text, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without hard links: the last one to write wins, and both read what stands there.
		if err := atomicfile.Write(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(data))
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(key) != keySize || base64.StdEncoding.EncodeToString(key) != text {
		return nil, fmt.Errorf("%s does not hold a key of %d bytes in base64: remove it, and a new one is made", path, keySize)
	}
	return key, nil
}

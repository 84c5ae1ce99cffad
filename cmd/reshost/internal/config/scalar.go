package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time, written like 30s, 1m30s or 250ms.
type Duration time.Duration

// Bytes is a number of bytes, written like 64KiB, 16MiB, 2GiB or a plain number.
type Bytes int64

// Path is a file's path. In the file it is relative to the file's folder; once loaded it is absolute.
type Path string

func parseDuration(s string) (Duration, error) {
	if s == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("want a duration such as 30s, 5m or 250ms, got %q", clip(s))
	}
	if d < 0 {
		return 0, fmt.Errorf("want a duration that is not negative, got %q", clip(s))
	}
	return Duration(d), nil
}

// String returns d as it is written in the file, without the zero units of time.Duration.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// byteUnits are largest first, for printing. Decimal units are left out: 1MB and 1MiB side by side invite mistakes.
var byteUnits = [...]struct {
	suffix string
	size   int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func parseBytes(s string) (Bytes, error) {
	bad := fmt.Errorf("want a size such as 64KiB, 16MiB or 2GiB, got %q", clip(s))
	number, unit := s, int64(1)
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			number, unit = strings.TrimRight(n, " "), u.size
			break
		}
	}
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return 0, bad
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, bad
	}
	if n > math.MaxInt64/unit {
		return 0, fmt.Errorf("the size %s is too large", clip(s))
	}
	return Bytes(n * unit), nil
}

// String returns b in the largest unit that divides it.
func (b Bytes) String() string {
	for _, u := range byteUnits {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

func parsePath(s, dir string) (Path, error) {
	if s == "" {
		return "", errors.New("want a path, got an empty string")
	}
	if strings.ContainsRune(s, 0) {
		return "", errors.New("a path cannot hold a NUL character")
	}
	if !filepath.IsAbs(s) {
		s = filepath.Join(dir, s)
	}
	return Path(filepath.Clean(s)), nil
}

// clip shortens foreign text for an error line.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

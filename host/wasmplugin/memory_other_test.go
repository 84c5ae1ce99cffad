//go:build !linux || !(amd64 || arm64)

package wasmplugin

// canMap reports whether large instances are put back page by page here.
func canMap() bool { return false }

//go:build !linux || !(amd64 || arm64)

package wasmplugin

// canMap says that large instances are put back by mapping.
const canMap = false

//go:build unix && !linux

package wasmplugin

// boundMemory does nothing: these systems do not count mappings against a limit, or count what is merely reserved.
func boundMemory(int64) {}

// closeInherited does nothing: there is no list of open files to go by.
func closeInherited() {}

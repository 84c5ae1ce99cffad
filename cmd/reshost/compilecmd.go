package main

import (
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/reshost/reshost/host/wasmplugin"
)

// compileChild is the hidden command that this program runs for each module to compile. See [wasmplugin.ChildCompiler].
const compileChild = "compile-child"

// childExit is how that command ends: by the code alone, since its parent reads nothing else.
type childExit int

func (childExit) Error() string { return "" }

func (a *app) compileChildCommand() *cobra.Command {
	return &cobra.Command{
		Use:                compileChild,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := wasmplugin.CompileChild(args, a.stdin, a.stdout); code != exitOK {
				return childExit(code)
			}
			return nil
		},
	}
}

// newCompiler returns a compiler that is this program.
func newCompiler() (wasmplugin.Compiler, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	const self = "/proc/self/exe" // stays this program when an upgrade replaces the file
	if _, err := os.Stat(self); err == nil && runtime.GOOS == "linux" {
		exe = self
	}
	return wasmplugin.ChildCompiler(exe, compileChild), nil
}

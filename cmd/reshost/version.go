package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host"
)

// versionInfo is the form of `version --json`.
type versionInfo struct {
	Version   string   `json:"version"`
	Commit    string   `json:"commit"`
	Modified  bool     `json:"modified"`
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Revisions []string `json:"revisions"`
	ABI       string   `json:"abi"`
	ABIMinor  int      `json:"abiMinor"`
	Plugins   []string `json:"plugins"`
}

// develVersion is the version of a build that is none of a release.
const develVersion = "devel"

// buildVersion reads what the Go linker noted about this binary.
func buildVersion() versionInfo {
	v := versionInfo{
		Version: develVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Revisions: host.Revisions(), ABI: abi.Version, ABIMinor: abi.Minor,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			v.Plugins = a.builtins.Names()
			if v.Plugins == nil {
				v.Plugins = []string{}
			}
			if a.json {
				return a.writeJSON(v)
			}
			return a.printVersion(&v)
		},
	})
}

func (a *app) printVersion(v *versionInfo) error {
	commit := v.Commit
	if commit == "" {
		commit = "unknown"
	} else if v.Modified {
		commit += " (modified)"
	}
	return a.printf("reshost %s\ncommit    %s\ngo        %s %s\nmcp       %s\nabi       %s\nplugins   %s\n",
		v.Version, commit, v.Go, v.Platform, joinOr(v.Revisions, "none"), v.ABI, joinOr(v.Plugins, "none built in"))
}

package cli

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// sourceVersion is the version that these sources are or lead to.
const sourceVersion = "v1.0.0"

// What a release was built from; its linker sets them, to the same for the same
// sources. Empty in other builds.
var release, commit, date string

// versionView is the version as it is printed.
type versionView struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit, in RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version returns what the binary was built from: what the linker was told, or
// else what the go command found out.
func version() versionView {
	v := versionView{Version: cmp.Or(release, sourceVersion), Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = cmp.Or(v.Commit, s.Value)
			case "vcs.time":
				v.Date = cmp.Or(v.Date, s.Value)
			}
		}
	}
	return v
}

func versionCommand(a *app) *cobra.Command {
	return newCommand(a, spec{
		use: "version", short: "Print the version",
		output: tables(),
		run: func(context.Context, []string) error {
			v := version()
			return a.print(v, rows{{"petstore", v.Version}, {"commit", cmp.Or(v.Commit, "unknown")}, {"date", cmp.Or(v.Date, "unknown")}, {"built with", v.Go, v.Platform}})
		},
	})
}

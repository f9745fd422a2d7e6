package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionView is the version as it is printed.
type versionView struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version returns what the binary was built from.
func version() versionView {
	v := versionView{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	o := tables()
	return a.command(spec{
		use: "version", short: "Print the version",
		output: o,
		run: func(context.Context, []string) error {
			v := version()
			return a.print(o, v, func() rows { return rows{{"petstore", v.Version, v.Go, v.Platform}} })
		},
	})
}

package security

import (
	"strings"
	"testing"
)

// TestLogIsPlain: what stands in a path does nothing to the terminal that shows the log, as JSON or as text.
func TestLogIsPlain(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"path":"/pets/\u009b31m\u202egnp\u2066"`, "text": `\u009b31m\u202egnp\u2066`} {
		s := newSite(t)
		s.serve("--log-format=" + format)
		s.do(request{method: "GET", path: "/pets/%C2%9B31m%E2%80%AEgnp%E2%81%A6"}).must(401)
		must(t, s.Stop())
		log := ""
		for name, text := range s.files() {
			if strings.HasSuffix(name, ".log") {
				log += text
			}
		}
		if !strings.Contains(log, want) || strings.ContainsAny(log, "\u009b\u202e\u2066") {
			t.Errorf("the log in %s has no %s, or what it stands for:\n%s", format, want, log)
		}
	}
}

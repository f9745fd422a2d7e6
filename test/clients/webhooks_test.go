package clients

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestStandardWebhooks has a webhook post to a program that verifies what comes with the published library for
// JavaScript: what the server sent, and nothing else.
func TestStandardWebhooks(t *testing.T) {
	t.Parallel()
	s := serve(t, "business", "shop")
	if out := run(t, ".", "node", filepath.Join(typeScript(t), "webhook.js"), s.URL, s.keys["shop"]); !strings.Contains(out, "all worked") {
		t.Errorf("it printed %q, want that all worked", out)
	}
}

package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestBanReason(t *testing.T) {
	t.Parallel()
	db := "--db=" + filepath.Join(t.TempDir(), "petstore.db")
	run(t, Success, "", "workspace", "create", "acme", "--plan", "pro", db)
	id := regexp.MustCompile(`key_\w+`).FindString(run(t, Success, "", "key", "create", "acme", db))
	for reason, code := range map[string]int{
		"too eager":                      Success,
		"":                               WrongUsage,
		"a\xff":                          WrongUsage,
		"a\nb":                           WrongUsage,
		strings.Repeat("é", maxReason):   Success,
		strings.Repeat("é", maxReason+1): WrongUsage,
	} {
		run(t, code, "", "key", "ban", id, "--for", "1h", "--reason", reason, db)
	}
}

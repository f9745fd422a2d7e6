package portal

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/petstore/examples/verify"
	"example.com/petstore/internal/webhook"
)

// TestVerifySamples runs the functions of the guide to webhooks as they stand there, on
// what the server signs.
func TestVerifySamples(t *testing.T) {
	t.Parallel()
	secret, old, other := webhook.MintSecret(), webhook.MintSecret(), webhook.MintSecret()
	body := `{"id":1,"data":{"name":"Zoë \u0026 Max"}}`
	for name, run := range verifiers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				what, secret, body string
				age                time.Duration
				want               bool
			}{
				{"as it is", secret, body, 0, true},
				{"with the old secret", old, body, 0, true},
				{"with another secret", other, body, 0, false},
				{"changed", secret, body + " ", 0, false},
				{"too old", secret, body, 6 * time.Minute, false},
				{"of the future", secret, body, -6 * time.Minute, false},
			} {
				h := make(http.Header)
				must(t, webhook.Sign(h, webhook.Message{ID: "evt_1_1", Secrets: []string{secret, old}, Body: []byte(body)}, time.Now().Add(-c.age)))
				if got := run(c.secret, h, c.body); got != c.want {
					t.Errorf("%s: %t, want %t", c.what, got, c.want)
				}
			}
		})
	}
}

// verifiers returns the functions, each run by its language.
func verifiers(t *testing.T) map[string]func(secret string, h http.Header, body string) bool {
	t.Helper()
	script := func(name, flag, code string) func(string, http.Header, string) bool {
		return func(secret string, h http.Header, body string) bool {
			need(t, name)
			names := map[string]string{}
			for n, v := range h {
				names[strings.ToLower(n)] = v[0]
			}
			text, err := json.Marshal(names)
			must(t, err)
			cmd := exec.CommandContext(t.Context(), name, flag, code, secret, string(text), names["webhook-id"], names["webhook-timestamp"], names["webhook-signature"]) //nolint:gosec // the samples
			cmd.Stdin = strings.NewReader(body)
			var said bytes.Buffer
			cmd.Stderr = &said
			out, err := cmd.Output()
			if said.Len() > 0 {
				t.Errorf("%s: %s", name, said.Bytes())
			}
			return err == nil && strings.TrimSpace(string(out)) == "yes"
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile("../../examples/verify/" + name)
		must(t, err)
		return string(text)
	}
	return map[string]func(string, http.Header, string) bool{
		"go": func(secret string, h http.Header, body string) bool {
			return verify.Verify(secret, h, []byte(body)) == nil
		},
		"javascript": script("node", "--input-type=module", `--eval=`+read("verify.mjs")+`
import { readFileSync } from "node:fs";
const [secret, headers] = process.argv.slice(1);
console.log(verify(secret, JSON.parse(headers), readFileSync(0)) ? "yes" : "no");`),
		"python": script("python3", "-c", read("verify.py")+`
import json, sys
print("yes" if verify(sys.argv[1], json.loads(sys.argv[2]), sys.stdin.buffer.read()) else "no")`),
		"shell": script("bash", "-c", read("verify.sh")+`
verify "$0" "$2" "$3" "$4" && echo yes`),
	}
}

package portal

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSamplesParse reads every sample with the tool of its language.
func TestSamplesParse(t *testing.T) {
	t.Parallel()
	d := newDescription()
	all := map[string]string{}
	for _, o := range d.Operations() {
		for _, s := range samples(d.call(o, "https://petstore.example")) {
			switch s.Lang {
			case "go":
				src := "package p\nfunc _() {\n" + s.Code + "}\n"
				if _, err := parser.ParseFile(token.NewFileSet(), o.OperationID+".go", src, 0); err != nil {
					t.Errorf("the Go sample of %s: %v\n%s", o.OperationID, err, s.Code)
				}
			case "javascript":
				all[s.Lang] += "{\n" + s.Code + "}\n"
			default:
				all[s.Lang] += s.Code + "\n"
			}
		}
	}
	checkers := map[string]struct {
		ext  string
		args []string
	}{
		"sh":         {".sh", []string{"bash", "-n"}},
		"javascript": {".mjs", []string{"node", "--check"}},
		"python":     {".py", []string{"python3", "-m", "py_compile"}},
	}
	for lang, c := range checkers {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			need(t, c.args[0])
			file := filepath.Join(t.TempDir(), "sample"+c.ext)
			must(t, os.WriteFile(file, []byte(all[lang]), 0o600))
			if out, err := exec.Command(c.args[0], append(c.args[1:], file)...).CombinedOutput(); err != nil {
				t.Errorf("%v: %v\n%s", c.args, err, out)
			}
		})
	}
}

func need(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); errors.Is(err, exec.ErrNotFound) {
		t.Skipf("%s is not installed", tool)
	}
}

func TestSampleOfAnUpdate(t *testing.T) {
	t.Parallel()
	d := newDescription()
	for _, o := range d.Operations() {
		if o.OperationID != "updateOrder" {
			continue
		}
		got := samples(d.call(o, "https://petstore.example"))[0].Code
		want := `curl -X PATCH "https://petstore.example/store/orders/1" \
  -H "Authorization: Bearer $PETSTORE_KEY" \
  -H "Content-Type: application/merge-patch+json" \
  -d '{"shipDate": "2026-03-08T09:30:00Z"}'`
		if got != want {
			t.Errorf("curl = %s\nwant %s", got, want)
		}
	}
}

// A busy server refuses twice, then answers.
type busy struct {
	mu   sync.Mutex
	seen []time.Time
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, time.Now())
	switch {
	case r.URL.Path == "/missing":
		w.WriteHeader(http.StatusNotFound)
	case r.Header.Get("Authorization") != "Bearer pst_test":
		w.WriteHeader(http.StatusUnauthorized)
	case len(b.seen) == 1:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case len(b.seen) == 2:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		_, _ = w.Write([]byte("served"))
	}
}

// TestRetryPrograms runs the programs of the guide to limits as they stand there.
func TestRetryPrograms(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"bash", "../../examples/retry/retry.sh"}, {"node", "../../examples/retry/retry.mjs"}, {"python3", "../../examples/retry/retry.py"}, {"go", "run", "../../examples/retry/main.go"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			need(t, args[0])
			if args[0] == "bash" {
				need(t, "curl")
			}
			server := &busy{}
			out := runRetry(t, args, server, "/pets")
			if !strings.Contains(out, "served") || len(server.seen) != 3 {
				t.Fatalf("after %d requests the program printed %q, want 3 and the answer", len(server.seen), out)
			}
			for i := 1; i < 3; i++ {
				if pause := server.seen[i].Sub(server.seen[i-1]); pause < 900*time.Millisecond {
					t.Errorf("request %d came after %v, want the second of Retry-After", i, pause)
				}
			}
			missing := &busy{}
			runRetry(t, args, missing, "/missing")
			if len(missing.seen) != 1 {
				t.Errorf("a 404 was asked for %d times, want once", len(missing.seen))
			}
		})
	}
}

func runRetry(t *testing.T, args []string, h http.Handler, path string) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], server.URL+path)...)
	cmd.Env = append(os.Environ(), "PETSTORE_KEY=pst_test")
	out, _ := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%v did not end", args)
	}
	return string(out)
}

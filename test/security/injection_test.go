package security

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/api"
	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

// injection lets TestInjection try every parameter, which takes minutes.
var injection = flag.Bool("injection", false, "let sqlmap try every parameter of every operation")

// only narrows TestInjection down.
var only = flag.String("spots", "", "with -injection: only the places whose names have this in them")

// A spot is one place of a request that a client fills in, in a request that is
// otherwise valid. The attacker's text replaces the star in the request.
type spot struct {
	operation, in, name string
	raw                 string // the request with a star
}

func (s spot) String() string { return s.operation + ", " + s.in + " " + s.name }

// pageful is more rows than a list of a console shows at once, so that it leads
// on.
const pageful = 30

// needSqlmap skips the test unless it is wanted and sqlmap is installed.
func needSqlmap(t *testing.T) {
	t.Helper()
	if !*injection {
		t.Skip("SKIPPED: sqlmap runs with -args -injection, as make security does")
	}
	servertest.Need(t, "sqlmap", "sqlmap")
}

// sqlmap attacks one spot, and returns what it says if it found a way in. It
// returns an error if it could not finish.
func sqlmap(t *testing.T, dbms string, s spot, options ...string) (found string, err error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "request")
	if err := os.WriteFile(file, []byte(s.raw), 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("sqlmap", append([]string{
		"-r", file, "--batch", "--dbms=" + dbms, "--level=2", "--risk=2", "--time-sec=2", "--ignore-code=*", "--ignore-stdin", "--ignore-redirects",
		"--disable-coloring", "--output-dir=" + filepath.Join(dir, "out"),
	}, options...)...)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch _, points, vulnerable := strings.Cut(text, "identified the following injection point"); {
	case vulnerable:
		return points, nil
	case err != nil || !strings.Contains(text, "all tested parameters do not appear to be injectable"):
		return "", fmt.Errorf("sqlmap: %w\n%s", err, text)
	}
	return "", nil
}

// TestInjection lets sqlmap try every parameter of the description, on both databases. Nothing may be found, nothing may
// fail, and the shop must be as sound as before. That no query is put together from what somebody sends, from the consoles
// either, is gosec's to check.
func TestInjection(t *testing.T) {
	needSqlmap(t)
	for dbms, flags := range map[string]func(*testing.T) []string{
		"sqlite": func(*testing.T) []string { return nil },
		"postgresql": func(t *testing.T) []string {
			return []string{"--db=" + postgrestest.Start(t).URL("postgres")}
		},
	} {
		t.Run(dbms, func(t *testing.T) { attack(t, dbms, flags(t)) })
	}
}

func attack(t *testing.T, dbms string, flags []string) {
	t.Helper()
	s := newSite(t)
	s.db = flags
	key := s.workspace("shop")
	s.serve(append(slices.Clone(flags), "--log-level=error", "--trusted-proxies=127.0.0.1")...)
	s.stock(key, "Pet", pageful)
	jobs := make(chan spot)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for at := range jobs {
				// Who tries keys is counted by address: here each comes from another.
				found, err := sqlmap(t, dbms, at, "--tamper=xforwardedfor")
				if err != nil || found != "" {
					t.Errorf("%v: %v%s", at, err, found)
				}
			}
		})
	}
	all := slices.DeleteFunc(s.spots(t, key), func(at spot) bool { return !strings.Contains(at.String(), *only) })
	for _, at := range all {
		jobs <- at
	}
	close(jobs)
	workers.Wait()
	if metrics := fetch(t, s.Ops+"/metrics"); !strings.Contains(metrics, `status="200"`) || strings.Contains(metrics, `status="500"`) {
		t.Errorf("requests were answered with 500:\n%s", s.LogText())
	}
	if log := s.LogText(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("something failed:\n%s", log)
	}
	var account struct {
		Limits struct{ Day struct{ Used int } }
	}
	must(t, json.Unmarshal([]byte(s.do(request{method: "GET", path: "/account", key: key}).must(200).Body), &account))
	if err := s.Stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if out, err := petstore.Run(s.dir, append([]string{"doctor"}, flags...)...); err != nil {
		t.Errorf("doctor: %s %v", out, err)
	}
	t.Logf("%s: %d parameters, %d requests with the key, nothing found", dbms, len(all), account.Limits.Day.Used)
}

// spots returns every place that a client fills in, from the description.
func (s *site) spots(t *testing.T, key string) (all []spot) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.JSON())
	must(t, err)
	for _, o := range operations(t) {
		item := doc.Paths.Value(o.path)
		head := fmt.Sprintf("Host: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n", s.addr(), key)
		body := text(t, o.sample(t))
		add := func(in, name, path, more, body string) {
			raw := fmt.Sprintf("%s %s HTTP/1.1\r\n%s%s\r\n%s", o.method, path, head, more, body)
			all = append(all, spot{o.id, in, name, raw})
		}
		if o.named() {
			add("path", "id", o.at(1)+"*", "", body)
		}
		for _, p := range item.GetOperation(o.method).Parameters {
			switch p.Value.In {
			case "query":
				add("query", p.Value.Name, o.at(1)+"?"+p.Value.Name+"="+s.value(t, o, p.Value, key)+"*", "", body)
			case "header":
				add("header", p.Value.Name, o.at(1), p.Value.Name+": "+s.value(t, o, p.Value, key)+"*\r\n", body)
			}
		}
		if o.schema != nil {
			for name := range members(o.schema) {
				fields := o.sample(t)
				fields[name] = "1*"
				add("body", name, o.at(1), "", text(t, fields))
			}
		}
	}
	for _, name := range []string{"Authorization: Bearer ", "X-API-Key: "} {
		raw := fmt.Sprintf("GET /account HTTP/1.1\r\nHost: %s\r\n%s%s*\r\n\r\n", s.addr(), name, key)
		all = append(all, spot{"getAccount", "header", name[:len(name)-2], raw})
	}
	if len(all) < 70 {
		t.Fatalf("the description has %d parameters, want 70 or more", len(all))
	}
	return all
}

// value returns a valid value of a parameter.
func (s *site) value(t *testing.T, o operation, p *openapi3.Parameter, key string) string {
	t.Helper()
	schema := p.Schema.Value
	if schema.Type.Is("array") {
		schema = schema.Items.Value
	}
	switch {
	case p.Name == "cursor":
		link := s.do(request{method: "GET", path: o.path + "?limit=1", key: key}).must(200).Header.Get("Link")
		_, after, _ := strings.Cut(link, "cursor=")
		cursor, _, _ := strings.Cut(after, ">")
		return strings.Split(cursor, "&")[0]
	case len(schema.Enum) > 0:
		return fmt.Sprint(schema.Enum[0])
	case schema.Type.Is("integer"):
		return "1"
	case schema.Type.Is("boolean"):
		return "false"
	case schema.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	}
	return "a"
}

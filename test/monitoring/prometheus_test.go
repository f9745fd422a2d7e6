package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

// petstore is the binary under test; TestMain sets it once.
var petstore servertest.Binary

// must ends a test if there is an error.
var must = servertest.Must

func TestMain(m *testing.M) { os.Exit(servertest.Main(&petstore, m.Run)) }

// need returns the path of a program of Debian's package prometheus.
func need(t *testing.T, program string) string {
	t.Helper()
	return servertest.Need(t, program, "prometheus")
}

func promtool(t *testing.T, stdin io.Reader, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), need(t, "promtool"), args...)
	cmd.Stdin = stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	promtool(t, nil, "check", "config", configFile, "../../deploy/prometheus/one-machine.yml")
	promtool(t, nil, "check", "rules", rulesFile)
	promtool(t, nil, "test", "rules", rulesTestFile)
}

// serveSQLite runs a server with backups and a shop that is asked for its pets.
func serveSQLite(t *testing.T) *servertest.Server {
	t.Helper()
	return serve(t, nil, "--backup-every=1h", "--backup-dir="+filepath.Join(t.TempDir(), "backups"))
}

// servePostgres runs a server with all that has metrics of its own: PostgreSQL and Redis.
func servePostgres(t *testing.T) *servertest.Server {
	t.Helper()
	return serve(t, []string{"--db=" + postgrestest.Start(t).URL("postgres")}, "--redis="+redistest.Start(t).URL())
}

// serve runs a server on a database, given by a flag or none, with a shop that is
// asked for its pets, and a webhook.
func serve(t *testing.T, db []string, flags ...string) *servertest.Server {
	t.Helper()
	dir := t.TempDir()
	key := petstore.Shop(t, dir, "acme", db...)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	flags = append(flags, "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8")
	s, err := petstore.Serve(servertest.Options{Dir: dir, Flags: append(flags, db...)})
	must(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("the server ended with %v\n%s", err, s.LogText())
		}
	})
	send(t.Context(), http.MethodPost, s.URL+"/webhooks", key.Key, fmt.Sprintf(`{"url":%q}`, receiver.URL))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			visit(ctx, s.URL, key.Key)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

// visit makes a write and two reads, one after the other.
func visit(ctx context.Context, base, key string) {
	send(ctx, http.MethodPost, base+"/categories", key, `{"name":"dogs"}`)
	send(ctx, http.MethodGet, base+"/pets", key, "")
	send(ctx, http.MethodGet, base+"/events", key, "")
}

// send sends a request, whatever comes of it.
func send(ctx context.Context, method, url, key, body string) {
	_, _ = servertest.Send(ctx, http.DefaultClient, servertest.Request{Method: method, URL: url, Key: key, Body: body})
}

// fetch returns the body that a URL answers.
func fetch(t *testing.T, from string) (string, error) {
	t.Helper()
	a, err := servertest.Send(t.Context(), http.DefaultClient, servertest.Request{Method: http.MethodGet, URL: from})
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %s", from, a.Status, a.Body)
	}
	return a.Body, err
}

// eventually repeats try until it returns nil.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(servertest.Patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestMetrics runs two servers, which have all metrics between them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	servers := []*servertest.Server{serveSQLite(t), servePostgres(t)}
	t.Run("names", func(t *testing.T) { expectNames(t, servers) })
	t.Run("Prometheus", func(t *testing.T) { expectValues(t, servers) })
}

// expectNames holds the metrics against what the rules and the dashboard name.
func expectNames(t *testing.T, servers []*servertest.Server) {
	known := map[string]bool{}
	for _, s := range servers {
		metrics := metricsOf(t, s)
		promtool(t, strings.NewReader(metrics), "check", "metrics")
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) `).FindAllStringSubmatch(metrics, -1) {
			known[m[1]] = true
		}
	}
	for _, file := range []string{rulesFile, dashboardFile, rulesTestFile} {
		for _, name := range metricNames(servertest.Text(t, file)) {
			if !known[name] {
				t.Errorf("%s names %s, which the servers do not have", file, name)
			}
		}
	}
}

// metricsOf returns the metrics of a server, once its requests are counted.
func metricsOf(t *testing.T, s *servertest.Server) (metrics string) {
	t.Helper()
	eventually(t, "requests are counted", func() (err error) {
		metrics, err = fetch(t, s.Ops+"/metrics")
		switch {
		case err != nil:
		case !strings.Contains(metrics, `operation="createCategory"`):
			err = fmt.Errorf("no createCategory in the metrics")
		}
		return err
	})
	return metrics
}

// expectValues has a real Prometheus read the servers, and evaluates the rules and
// every expression of the dashboard in it.
func expectValues(t *testing.T, servers []*servertest.Server) {
	base := startPrometheus(t, servers...)
	expectRules(t, base)
	fill := strings.NewReplacer("$__rate_interval", "20s", "$job", "petstore", "$instance", ".*")
	for _, p := range readDashboard(t) {
		for _, target := range p.Targets {
			expr := fill.Replace(target.Expr)
			eventually(t, fmt.Sprintf("panel %q, %s", p.Title, expr), func() error { return query(t, base, expr) })
		}
	}
}

// startPrometheus starts a Prometheus that reads the servers each second, with
// the rules, and returns its URL.
func startPrometheus(t *testing.T, servers ...*servertest.Server) string {
	t.Helper()
	program, dir := need(t, "prometheus"), t.TempDir()
	rules, err := filepath.Abs(rulesFile)
	must(t, err)
	targets := make([]string, len(servers))
	for i, s := range servers {
		targets[i] = strconv.Quote(strings.TrimPrefix(s.Ops, "http://"))
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n- job_name: petstore\n  static_configs: [{targets: [%s]}]\n", rules, strings.Join(targets, ", "))
	must(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	addr := servertest.FreeAddr(t)
	servertest.Started(t, nil, program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	eventually(t, "prometheus is ready", func() error { _, err := fetch(t, "http://"+addr+"/-/ready"); return err })
	return "http://" + addr
}

// expectRules waits until every rule was evaluated, and expects that none failed
// and that no alert fires.
func expectRules(t *testing.T, base string) {
	t.Helper()
	eventually(t, "rules", func() error {
		body, err := fetch(t, base+"/api/v1/rules")
		switch {
		case err != nil:
			return err
		case strings.Contains(body, `"health":"unknown"`) || !strings.Contains(body, `"health":"ok"`):
			return fmt.Errorf("not all were evaluated: %s", body)
		case strings.Contains(body, `"health":"err"`) || strings.Contains(body, `"state":"firing"`):
			t.Fatalf("a rule failed, or an alert fires: %s", body)
		}
		return nil
	})
}

// query returns an error unless an expression has a value that is a number.
func query(t *testing.T, base, expr string) error {
	t.Helper()
	body, err := fetch(t, base+"/api/v1/query?query="+url.QueryEscape(expr))
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return err
	}
	number := regexp.MustCompile(`^[0-9.e+-]+$`)
	for _, r := range answer.Data.Result {
		if text, ok := r.Value[1].(string); ok && number.MatchString(text) {
			return nil
		}
	}
	return fmt.Errorf("no value in %s", body)
}

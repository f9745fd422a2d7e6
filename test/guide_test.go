package test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// TestCommandLineGuide runs the commands of the guide as they stand there, one
// after the other, on an empty workspace.
func TestCommandLineGuide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := petstore.Shop(t, dir, "acme")
	server := petstore.Start(t, servertest.Options{Dir: dir})
	script := guidePanels(t, "../internal/portal/guides/command-line.html", "sh")
	script = strings.NewReplacer("BASE_URL", server.URL, "pst_…", key.Key).Replace(script)
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + filepath.Dir(string(petstore)) + string(os.PathListSeparator) + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands of the guide: %v\n%s", err, out)
	}
	for _, want := range []string{`"name": "acme"`, `"name": "Laika"`, `"complete": true`, "404 pet_not_found", "not found, or"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the commands of the guide print no %s but\n%s", want, out)
		}
	}
}

// TestFirstRequestGuide runs the commands of the guide as they stand there, in an empty workspace and in the demo, whose own
// orders stay as they are.
func TestFirstRequestGuide(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	empty := petstore.Shop(t, d.dir, "acme")
	for name, key := range map[string]string{"empty": empty.Key, "demo": d.key} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := guidePanels(t, "../internal/portal/guides/first-request.html", "sh")
			script = strings.NewReplacer("BASE_URL", d.url, "pst_…", key, "petstore serve --demo", ":").Replace(script)
			cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
			cmd.Dir, cmd.Env = d.dir, []string{"PATH=" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), `"code":`) {
				t.Fatalf("the commands of the guide: %v\n%s", err, out)
			}
			placed := regexp.MustCompile(`"id":(\d+),"petId":\d+,"quantity":1,"complete":false`).FindSubmatch(out)
			if placed == nil || !regexp.MustCompile(`"id":`+string(placed[1])+`,.*"complete":true`).Match(out) {
				t.Errorf("the guide completes another order than the one that it places:\n%s", out)
			}
		})
	}
}

// guidePanels returns what the panels of a guide have in a language.
func guidePanels(t *testing.T, path, language string) string {
	t.Helper()
	var all []string
	for _, panel := range regexp.MustCompile("(?s)\\(snippet \"[^\"]*\" \""+language+"\" `(.*?)`\\)").FindAllStringSubmatch(servertest.Text(t, path), -1) {
		all = append(all, panel[1])
	}
	if len(all) == 0 {
		t.Fatalf("%s has no panel in %s", path, language)
	}
	return strings.Join(all, "\n")
}

// TestWebhooksGuide runs the receiver of the guide as it stands there, but for its port: a
// webhook leads to it, or petstore listen.
func TestWebhooksGuide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := petstore.Shop(t, dir, "acme")
	server := petstore.Start(t, servertest.Options{Dir: dir, Flags: []string{"--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8"}})
	env := []string{"HOME=" + dir, "PETSTORE_SERVER=" + server.URL, "PETSTORE_KEY=" + key.Key}
	for name, command := range map[string][]string{"a webhook": {"webhook", "create", "-o=json"}, "listen": {"listen", "--forward-to"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := servertest.FreeAddr(t)
			said := servertest.Started(t, env, string(petstore), append(command, "http://"+to+"/")...)
			secret := regexp.MustCompile(`whsec_[\w+/=]+`)
			servertest.Eventually(t, "a secret is printed", func() bool { return secret.MatchString(said()) })
			got := guideReceiver(t, to, secret.FindString(said()))
			await(t, http.StatusCreated, http.MethodPost, server.URL+"/categories", key.Key, `{"name":"Dogs"}`)
			servertest.Eventually(t, "the receiver prints the event", func() bool { return strings.Contains(got(), `"category.created"`) })
		})
	}
}

// guideReceiver starts the receiver of the guide, and returns what it prints.
func guideReceiver(t *testing.T, addr, secret string) (said func() string) {
	t.Helper()
	node, dir := servertest.Need(t, "node", "nodejs"), t.TempDir()
	_, port, _ := strings.Cut(addr, ":")
	verify, receive := servertest.Text(t, "../examples/verify/verify.mjs"), servertest.Text(t, "../examples/verify/receive.mjs")
	for name, text := range map[string]string{"verify.mjs": verify, "receive.mjs": strings.Replace(receive, "3000", port, 1)} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return servertest.Started(t, []string{"SECRET=" + secret}, node, filepath.Join(dir, "receive.mjs"))
}

// TestMirror runs the program of the guide to events, in one folder: it follows changes while it runs, makes up for those
// that it missed, and begins again where it must.
func TestMirror(t *testing.T) {
	t.Parallel()
	python, dir := servertest.Need(t, "python3", "python3"), t.TempDir()
	program, err := filepath.Abs("../examples/mirror/mirror.py")
	must(t, err)
	d := newDemo(t)
	send := func(method, path, body string) {
		t.Helper()
		if got, text := status(t, method, d.url+path, d.key, body); got >= 300 {
			t.Fatalf("%s %s = %d %s", method, path, got, text)
		}
	}
	order := func() { send(http.MethodPost, "/store/orders", `{"petId":13,"quantity":2}`) }
	for _, step := range []struct {
		name          string
		before, while func()
	}{
		{"new", func() {}, func() {}},
		{"while it runs", func() {}, func() {
			order()
			send(http.MethodDelete, "/store/orders/16", "")
			send(http.MethodPatch, "/pets/1", `{"name":"Rex"}`)
			send(http.MethodDelete, "/pets/43", "")
		}},
		{"before it runs", order, func() {}},
		{"everything at once", func() {
			if out, err := petstore.Run(d.dir, "workspace", "reset", "demo", "--yes"); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			await(t, http.StatusNotFound, http.MethodGet, d.url+"/pets/1", d.key, "") // a busy server has not picked it up yet
			send(http.MethodPost, "/categories", `{"name":"Dogs"}`)
		}, func() {}},
		{"a place beyond the end", func() {
			queryCopy(t, python, dir, `db.execute("UPDATE place SET next = '/events?after=1000000'"); db.execute("DELETE FROM resources"); db.commit()`)
		}, func() {}},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.before()
			servertest.Started(t, []string{"PETSTORE_URL=" + d.url, "PETSTORE_KEY=" + d.key}, "sh", "-c", `cd "$0" && exec "$@"`, dir, python, program)
			step.while()
			want := d.lists(t)
			servertest.Eventually(t, "the copy is what the lists have", func() bool { return queryCopy(t, python, dir, dumpCopy) == want })
		})
	}
}

// dumpCopy prints the copy in the form of lists.
const dumpCopy = `
for kind in ("category", "pet", "inventory", "order"):
    rows = db.execute("SELECT data FROM resources WHERE kind = ? ORDER BY id", (kind,)).fetchall()
    print(json.dumps([json.loads(row[0]) for row in rows], separators=(",", ":"), ensure_ascii=False))`

// queryCopy runs a script on the copy in dir, and returns what it prints.
func queryCopy(t *testing.T, python, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, "-c", "import json, sqlite3\ndb = sqlite3.connect('copy.db')\n"+script)
	cmd.Dir, cmd.Env = dir, []string{"PYTHONUTF8=1"}
	out, _ := cmd.CombinedOutput() // the copy may not be there yet
	return string(out)
}

// lists returns the four lists of a demo, as dumpCopy prints them.
func (d demo) lists(t *testing.T) (all string) {
	t.Helper()
	for _, list := range []string{"/categories", "/pets", "/inventory", "/store/orders"} {
		status, text := d.send(t, example{method: http.MethodGet, path: list + "?limit=100"})
		if status != http.StatusOK {
			t.Fatalf("GET %s = %d %s", list, status, text)
		}
		all += text + "\n"
	}
	return all
}

package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// A moved shop is asked the same before and after.
type movedShop struct {
	*testing.T
	dir  string
	key  string
	next string // the page after the first, as its link says
}

// A seen is what a client sees of an answer.
type seen struct {
	status                     int
	body, etag, replayed, link string
}

func (m *movedShop) ask(base, method, path, body, once string) seen {
	m.Helper()
	a, err := servertest.Send(m.Context(), http.DefaultClient, servertest.Request{Method: method, URL: base + path, Key: m.key, Body: body, Once: once})
	must(m, err)
	return seen{a.Status, a.Body, a.Header.Get("ETag"), a.Header.Get("Idempotency-Replayed"), strings.ReplaceAll(a.Header.Get("Link"), base, "")}
}

// serve runs a node on a database until stop is called.
func (m *movedShop) serve(db string) (url string, stop func()) {
	m.Helper()
	s := petstore.Start(m, servertest.Options{Dir: m.dir, Flags: []string{"--db=" + db}})
	return s.URL, func() {
		if err := s.Stop(); err != nil {
			m.Errorf("the end of the server: %v", err)
		}
	}
}

const onceOrder, onceBody = "the-same-order", `{"petId":1,"quantity":2}`

// trade leaves rows of every kind behind.
func (m *movedShop) trade(url string) {
	m.Helper()
	for _, c := range [][4]string{
		{"POST", "/store/orders", onceBody, onceOrder}, {"POST", "/store/orders", `{"petId":2,"complete":true}`},
		{"PATCH", "/inventory/3", `{"quantity":77}`}, {"DELETE", "/pets/4"},
	} {
		if a := m.ask(url, c[0], c[1], c[2], c[3]); a.status >= 300 {
			m.Fatalf("%v = %d %s", c, a.status, a.body)
		}
	}
}

// look returns what clients see, by request.
func (m *movedShop) look(url string) map[string]seen {
	m.Helper()
	all := map[string]seen{}
	for _, path := range []string{"/pets", "/pets?limit=100&name=77", "/pets/1", "/categories", "/store/orders", "/store/orders/1", "/inventory/1", "/inventory?maxQuantity=0"} {
		all[path] = m.ask(url, "GET", path, "", "")
	}
	if m.next == "" {
		link := all["/pets"].link
		m.next = link[1:strings.Index(link, ">")]
	}
	all["next page"] = m.ask(url, "GET", m.next, "", "")
	all["replay"] = m.ask(url, "POST", "/store/orders", onceBody, onceOrder)
	return all
}

// usedToday returns what the account says of its day.
func (m *movedShop) usedToday(url string) int64 {
	m.Helper()
	used, err := servertest.UsedToday(url, m.key)
	if err != nil || used == 0 {
		m.Fatalf("%d requests are used today, %v", used, err)
	}
	return used
}

// TestMigrateStore: a shop that is moved goes on as if nothing had happened. That a move may be killed is internal/store's to
// test.
func TestMigrateStore(t *testing.T) {
	t.Parallel()
	server := database.Server(t)
	name, err := server.Create(t.Context(), "")
	must(t, err)
	m := &movedShop{T: t, dir: t.TempDir()}
	const pets = 3000
	m.fill(pets)
	url, stop := m.serve("petstore.db")
	m.trade(url)
	before := m.look(url)
	used := m.usedToday(url)
	move := []string{"migrate-store", "--from=petstore.db", "--to=" + server.URL(name), "-o=json"}
	if _, err := petstore.Run(m.dir, move...); err == nil || !strings.Contains(err.Error(), "petstore.db: is in use: stop the server first") {
		t.Errorf("migrate-store beside the server = %v, want a refusal", err)
	}
	stop()

	m.finish(move, pets)

	m.wantRefused()
	url, stop = m.serve(server.URL(name))
	if got := m.usedToday(url); got != used {
		t.Errorf("%d requests are used today, want the %d of before", got, used)
	}
	if after := m.look(url); !maps.Equal(after, before) {
		for path, want := range before {
			if after[path] != want {
				t.Errorf("%s = %+v, want as before %+v", path, after[path], want)
			}
		}
	}
	if before["replay"].replayed != "true" {
		t.Errorf("the replay = %+v", before["replay"])
	}
	if a := m.ask(url, "POST", "/pets", `{"name":"Next","categoryId":1}`, ""); a.status != http.StatusCreated || !strings.Contains(a.body, fmt.Sprintf(`"id":%d,`, pets+1)) {
		t.Errorf("the next pet = %d %s, want the id %d", a.status, a.body, pets+1)
	}
	stop()
	if out, err := petstore.Run(m.dir, "doctor", "--db="+server.URL(name), "-o=table"); err != nil {
		t.Errorf("doctor = %s, %v", out, err)
	}
}

// wantRefused fails the test unless whatever would use the file that was moved is refused
// with the new address.
func (m *movedShop) wantRefused() {
	m.Helper()
	const want = "petstore.db: was moved to postgres://"
	for _, args := range [][]string{
		{"workspace", "list"}, {"workspace", "create", "other", "--plan=free"}, {"key", "list", "acme"}, {"key", "revoke", "key_0123456789abcdef"}, {"events", "acme"},
		{"export", "acme"}, {"import", "acme", "pets.csv"}, {"import", "acme", "pets.csv", "--dry-run"}, {"backup", "old.db"}, {"migrate", "status"}, {"migrate", "up"},
		{"operator", "token", "list"},
	} {
		if out, err := petstore.Run(m.dir, args...); err == nil || !strings.Contains(err.Error(), want) {
			t := strings.Join(args, " ")
			m.Errorf("petstore %s on the file that was moved = %s, %v, want %q", t, out, err, want)
		}
	}
	if out, err := petstore.Run(m.dir, "doctor", "-o=table"); err == nil || !strings.Contains(out, want) {
		m.Errorf("doctor on the file that was moved = %s, %v, want %q", out, err, want)
	}
	if _, err := petstore.Serve(servertest.Options{Dir: m.dir}); err == nil || !strings.Contains(err.Error(), want) {
		m.Errorf("serve on the file that was moved = %v, want %q", err, want)
	}
}

// fill makes the shop, with many pets.
func (m *movedShop) fill(pets int) {
	m.Helper()
	var csv strings.Builder
	csv.WriteString("name,category,stock\n")
	for n := range pets {
		fmt.Fprintf(&csv, "Pet %d,Kind %d,%d\n", n, n%7, 5+n%3)
	}
	must(m, os.WriteFile(filepath.Join(m.dir, "pets.csv"), []byte(csv.String()), 0o600))
	m.key = petstore.Shop(m, m.dir, "acme", "business").Key
	petstore.Must(m, m.dir, "import", "acme", "pets.csv")
}

// finish runs the move to its end.
func (m *movedShop) finish(args []string, pets int) {
	m.Helper()
	out := petstore.Must(m, m.dir, args...)
	var report struct {
		Tables []struct {
			Table string
			Rows  int
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		m.Errorf("the report = %s, %v", out, err)
	}
	for _, table := range report.Tables {
		if table.Table == "pets" && table.Rows != pets-1 { // one was deleted
			m.Errorf("%d pets were moved, want %d", table.Rows, pets-1)
		}
	}
}

package nodes

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

var (
	// petstore is the binary under test; TestMain builds it.
	petstore servertest.Binary
	// database is the server on which each test has a database of its own.
	database postgrestest.Shared
)

// must ends a test if there is an error.
var must = servertest.Must

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(&petstore, func() int { return database.Main(m.Run) }))
}

// newDatabase returns the URL of an empty database for the time of a test.
func newDatabase(t *testing.T) string {
	t.Helper()
	return database.Server(t).Database(t, "")
}

// A deployment is several nodes on one database.
type deployment struct {
	t     *testing.T
	dir   string
	db    string // its URL
	flags []string
	nodes []*servertest.Server
}

// deploy starts n nodes with the given flags at once; the first that comes
// makes the tables.
func deploy(t *testing.T, db string, n int, flags ...string) *deployment {
	t.Helper()
	d := &deployment{t: t, dir: t.TempDir(), db: db, flags: append([]string{"--db=" + db, "--log-level=warn"}, flags...)}
	d.nodes = make([]*servertest.Server, n)
	var all sync.WaitGroup
	for i := range d.nodes {
		all.Go(func() { d.nodes[i] = d.serve() })
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return d
}

// serve starts one node, for the time of the test at most; the flags are for it
// alone. It returns nil, and the test has failed, if the node does not start.
func (d *deployment) serve(flags ...string) *servertest.Server {
	d.t.Helper()
	s, err := petstore.Serve(servertest.Options{Dir: d.dir, Flags: append(flags, d.flags...)})
	if err != nil {
		d.t.Error(err)
		return nil
	}
	d.t.Cleanup(s.Kill)
	return s
}

// run runs a command beside the nodes and returns what it printed.
func (d *deployment) run(args ...string) string {
	d.t.Helper()
	return petstore.Must(d.t, d.dir, append(args, "--db="+d.db)...)
}

// workspace makes a workspace with the given quotas, and returns a key that
// every node knows.
func (d *deployment) workspace(name string, perMinute, perDay int) servertest.Key {
	d.t.Helper()
	plan := []string{"enterprise", fmt.Sprint("--per-minute=", perMinute), fmt.Sprint("--per-day=", perDay), "--db=" + d.db}
	key := petstore.Shop(d.t, d.dir, name, plan...)
	for _, n := range d.nodes {
		servertest.Eventually(d.t, "the node knows the key", func() bool { return get(d.t, n.URL+"/account", key.Key).Status == 200 })
	}
	return key
}

const endless = 1_000_000_000

// shop makes a workspace without bounds, with one pet of which there are units.
func (d *deployment) shop(name string, units int) servertest.Key {
	d.t.Helper()
	key := d.workspace(name, endless, endless)
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/categories", `{"name":"Dogs"}`, 201},
		{"POST", "/pets", `{"name":"Rex","categoryId":1}`, 201},
		{"PATCH", "/inventory/1", fmt.Sprintf(`{"quantity":%d}`, units), 200},
	} {
		a := ask(d.t, servertest.Request{Method: c.method, URL: d.nodes[0].URL + c.path, Key: key.Key, Body: c.body})
		if a.Status != c.want {
			d.t.Fatalf("%s %s = %d %s, want %d", c.method, c.path, a.Status, a.Body, c.want)
		}
	}
	return key
}

// awaitDay returns when the UTC day has some minutes left, so that no quota
// begins afresh in the test. It waits for real time, since nodes and database have
// the machine's clock: for a minute and a half at most, once a day.
func awaitDay(t *testing.T) {
	t.Helper()
	for time.Until(time.Now().UTC().Truncate(24*time.Hour).Add(24*time.Hour)) < 90*time.Second {
		time.Sleep(time.Second) // between two polls
	}
}

// sound has the program hold the ledger against stock and orders.
func (d *deployment) sound() {
	d.t.Helper()
	if out := d.run("doctor", "-o=json"); !strings.Contains(out, "ok") {
		d.t.Errorf("doctor = %s", out)
	}
}

package postgres

import (
	"bytes"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// A past is what was told of a shop before its database came back from an earlier moment.
type past struct {
	workspace, pet, order, event int64
	state                        int64 // of access
}

// newPast returns a shop with an order.
func newPast(t *testing.T, db *DB) *past {
	t.Helper()
	p := &past{}
	p.workspace, p.pet = newStocked(t, db, petstore.MaxQuantity)
	p.goOn(t, db)
	return p
}

// goOn makes an order, and a key that is revoked.
func (p *past) goOn(t *testing.T, db *DB) {
	t.Helper()
	ctx := t.Context()
	o, err := petstore.NewService(db).CreateOrder(ctx, p.workspace, petstore.NewOrder{PetID: p.pet, Quantity: 1}, nil)
	must(t, err)
	if _, err := db.UpdateWorkspace(ctx, p.workspace, "cli", func(w *access.Workspace) { w.Plan = access.Pro }); err != nil {
		t.Fatal(err)
	}
	page, err := db.Events(ctx, p.workspace, petstore.EventQuery{Oldest: true, Limit: 1})
	must(t, err)
	state, err := db.AccessState(ctx)
	must(t, err)
	p.order, p.event, p.state = o.ID, page.Last, state
}

// wantGap fails the test unless ids go on at n times the gaps, those who have read all
// events are told to read everything again, and the state of access is a new one.
func (p *past) wantGap(t *testing.T, db *DB, n int64) {
	t.Helper()
	ctx := t.Context()
	o, err := petstore.NewService(db).CreateOrder(ctx, p.workspace, petstore.NewOrder{PetID: p.pet, Quantity: 1}, nil)
	if err != nil || o.ID != n*1_000_000+1 {
		t.Errorf("CreateOrder = %d, %v, want the id %d", o.ID, err, n*1_000_000+1)
	}
	if state, err := db.AccessState(ctx); err != nil || state <= p.state {
		t.Errorf("AccessState = %d, %v, want more than %d", state, err, p.state)
	}
	page, err := db.Events(ctx, p.workspace, petstore.EventQuery{After: p.event, Limit: 2})
	if err != nil || len(page.Events) != 2 || page.Events[0].Type != petstore.WorkspaceReset || page.Events[0].ID != n<<36 ||
		page.Events[1].Type != petstore.OrderCreated || page.Events[1].ID != n<<36+1 {
		t.Errorf("events after %d = %+v, %v, want %s with the id %d and the order", p.event, page.Events, err, petstore.WorkspaceReset, n<<36)
	}
	wantSound(t, db)
	if problems, err := db.CheckFeed(ctx, p.workspace); err != nil || len(problems) > 0 {
		t.Errorf("CheckFeed = %v, %v, want none", problems, err)
	}
}

// TestIDsAfterLostCommits: nodes that run notice that a standby was promoted which lacks
// what they have told. Until then they read from the primary, although the standby is named
// first.
func TestIDsAfterLostCommits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	primary := postgrestest.Start(t, postgrestest.Lax()...)
	standby := primary.Standby(t, postgrestest.Lax()...)
	db := node(t, postgrestest.URL("postgres", standby, primary), Options{})
	p := newPast(t, db)
	eventually(t, "the order at the standby", func() bool {
		var n int
		err := direct(t, standby.URL("postgres")).QueryRow(ctx, "SELECT count(*) FROM petstore.orders").Scan(&n)
		return err == nil && n == 1
	})
	must(t, standby.Configure(ctx, "primary_conninfo", "host=/nowhere"))
	eventually(t, "no replication", func() bool {
		var n int
		err := direct(t, primary.URL("postgres")).QueryRow(ctx, "SELECT count(*) FROM pg_stat_replication").Scan(&n)
		return err == nil && n == 0
	})
	p.goOn(t, db)
	if _, err := db.Order(ctx, p.workspace, p.order); err != nil {
		t.Errorf("Order that the standby lacks = %v", err)
	}
	woken := db.Written(p.workspace)
	followed := follow(t, db)
	<-followed
	must(t, primary.Crash())
	must(t, standby.Promote(ctx))
	eventually(t, "the database", func() bool { _, err := db.AccessState(ctx); return err == nil && db.Err() == nil })
	<-woken
	p.wantGap(t, db, 1)
}

// TestIDsAfterADump: a restored dump is older than what was told, also if it is in another
// database of the same server.
func TestIDsAfterADump(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	name, err := server.Create(t.Context(), "")
	must(t, err)
	db := node(t, server.URL(name), Options{})
	p := newPast(t, db)
	dump, err := server.Program("pg_dump", "-d", name).Output()
	must(t, err)
	p.goOn(t, db)
	other, err := server.Create(t.Context(), "")
	must(t, err)
	restore := server.Program("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", other)
	restore.Stdin = bytes.NewReader(dump)
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	p.wantGap(t, node(t, server.URL(other), Options{}), 1)
}

// wantNoGap fails the test unless the second order has the id 2, and nobody is told to read
// everything again.
func (p *past) wantNoGap(t *testing.T, db *DB) {
	t.Helper()
	p.goOn(t, db)
	if p.order != 2 {
		t.Errorf("the second order has the id %d, want 2", p.order)
	}
	page, err := db.Events(t.Context(), p.workspace, petstore.EventQuery{Oldest: true, Types: []petstore.EventType{petstore.WorkspaceReset}, Limit: 1})
	if err != nil || len(page.Events) > 0 {
		t.Errorf("events = %+v, %v, want no reset", page.Events, err)
	}
}

// TestIDsByARole: a role that owns the database alone can tell which history it is in.
func TestIDsByARole(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	name, err := server.Create(t.Context(), "")
	must(t, err)
	execute(t, server.URL(name), "CREATE ROLE plain_"+name+" LOGIN; GRANT ALL ON DATABASE "+name+" TO plain_"+name)
	db := node(t, strings.Replace(server.URL(name), "user=postgres", "user=plain_"+name, 1), Options{})
	newPast(t, db)
}

package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/webhook"
)

// A try is one run of a move.
type try struct {
	from, to   string
	onProgress func(done, all int64)
	loses      string                       // a table whose first row does not arrive at the target
	commit     func(*postgres.Target) error // instead of the target's
	mark       func(*sqlite.Source) error   // instead of the source's
}

// An alteringTarget does not keep what it is given.
type alteringTarget struct {
	*postgres.Target
	try
}

func (a alteringTarget) Fill(t *store.MovedTable, next func() ([]any, error)) (int64, error) {
	if t.Name == a.loses {
		if _, err := next(); err != nil {
			return 0, err
		}
	}
	return a.Target.Fill(t, next)
}

func (a alteringTarget) Commit() error {
	if a.commit != nil {
		return a.commit(a.Target)
	}
	return a.Target.Commit()
}

// An alteringSource is not always marked.
type alteringSource struct {
	*sqlite.Source
	try
}

func (a alteringSource) MarkMoved(to string) error {
	if a.mark != nil {
		return a.mark(a.Source)
	}
	return a.Source.MarkMoved(to)
}

func (y try) run(ctx context.Context) (result []store.Moved, err error) {
	source, err := sqlite.OpenSource(ctx, y.from)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := postgres.OpenTarget(ctx, y.to, time.Now)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, target.Close(ctx)) }()
	m := &store.Move{From: alteringSource{source, y}, To: alteringTarget{target, y}, Name: "the shop's new place", OnProgress: func(done, all int64) {
		if y.onProgress != nil {
			y.onProgress(done, all)
		}
	}}
	return m.Run(ctx)
}

// A stock is a store of either kind.
type stock interface {
	petstore.Store
	petstore.Bulk
	access.Store
	webhook.Store
	Check(ctx context.Context) ([]string, error)
	Close() error
}

func dumped(t *testing.T, db stock, workspace int64) string {
	t.Helper()
	var text bytes.Buffer
	w := interchange.NewWriter(&text, interchange.NDJSON, interchange.Head{Workspace: "acme", ExportedAt: petstore.At(time.UnixMilli(0))})
	ok(t, db.Dump(t.Context(), workspace, w))
	ok(t, w.Close())
	return text.String()
}

// keysOfAll returns the keys of each workspace.
func keysOfAll(ctx context.Context, s stock) (all [][]access.Key, err error) {
	workspaces, err := s.Workspaces(ctx, 0, 100)
	for _, w := range workspaces {
		keys, keysErr := s.KeyPage(ctx, w.ID, access.KeyPage{Limit: 100})
		all, err = append(all, keys), errors.Join(err, keysErr)
	}
	return all, err
}

// wantSame compares what both stores have, as their callers see it.
func wantSame(t *testing.T, got, want stock) {
	t.Helper()
	ctx := t.Context()
	w, err := want.Workspace(ctx, "acme")
	ok(t, err)
	if a, b := dumped(t, got, w.ID), dumped(t, want, w.ID); a != b {
		t.Errorf("the shop is\n%s, want\n%s", a, b)
	}
	for name, read := range map[string]func(stock) (any, error){
		"Workspaces":      func(s stock) (any, error) { return s.Workspaces(ctx, 0, 100) },
		"Keys":            func(s stock) (any, error) { return keysOfAll(ctx, s) },
		"State":           func(s stock) (any, error) { return s.AccessState(ctx) },
		"Secret":          func(s stock) (any, error) { return s.Secret(ctx) },
		"Audit":           func(s stock) (any, error) { return s.AuditPage(ctx, 0, 0, 100) },
		"Webhooks":        func(s stock) (any, error) { return s.Webhooks(ctx, w.ID) },
		"ImportedThrough": func(s stock) (any, error) { return s.ImportedThrough(ctx, w.ID, "digest") },
	} {
		a, err1 := read(got)
		b, err2 := read(want)
		if err := errors.Join(err1, err2); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s = %v, want %v (%v)", name, a, b, err)
		}
	}
	problems, err := got.Check(ctx)
	if err != nil || len(problems) > 0 {
		t.Errorf("Check = %q, %v, want no problems", problems, err)
	}
}

// wantFileRefused fails the test unless nothing takes the file after the move.
func wantFileRefused(t *testing.T, y try) {
	t.Helper()
	ctx := t.Context()
	open := func(o sqlite.Options) error {
		_, err := sqlite.Open(ctx, y.from, o)
		return err
	}
	_, restored := sqlite.Restore(ctx, y.from, y.from+".restored", sqlite.Options{})
	_, migrated := sqlite.MigrateUp(ctx, y.from, nil)
	const want = "petstore.db: was moved to the shop's new place: name that with --db, or in the variable PETSTORE_DB"
	for i, err := range []error{
		open(sqlite.Options{Readers: 1}), open(sqlite.Options{ReadOnly: true}), open(sqlite.Options{NoMigrate: true}), open(sqlite.Options{Serve: true}),
		restored, migrated, sqlite.Backup(ctx, y.from, y.from+".backup"),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("use %d of the file = %v, want %q", i, err, want)
		}
	}
}

// wantMoved compares what the server has after the move with a copy of the file of before, and returns the server's.
func wantMoved(t *testing.T, y try) *postgres.DB {
	t.Helper()
	file, err := sqlite.Open(t.Context(), y.from+".before", sqlite.Options{Readers: 1})
	ok(t, err)
	server, err := postgres.Open(t.Context(), y.to, postgres.Options{Readers: 1})
	ok(t, err)
	t.Cleanup(func() {
		if err := errors.Join(file.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	wantSame(t, server, file)
	return server
}

// TestMove: what was moved is the same, and goes on with new ids and old receipts. The tables of the target may be divided.
func TestMove(t *testing.T) {
	t.Parallel()
	for _, divided := range []bool{false, true} {
		url, database := emptyDatabase(t)
		if divided {
			_, err := postgres.MigrateUp(t.Context(), url, nil)
			ok(t, err)
			script, err := os.ReadFile("../../deploy/postgres/partition.sql")
			ok(t, err)
			ok(t, shared.Server(t).Exec(t.Context(), database, "BEGIN;"+string(script)+"COMMIT"))
		}
		move(t, try{from: newFile(t), to: url})
	}
}

func move(t *testing.T, y try) {
	t.Helper()
	result, err := y.run(t.Context())
	ok(t, err)
	moved := map[string]int64{}
	for _, table := range result {
		if moved[table.Table] = table.Rows; table.Rows == 0 && table.Table != "removals" { // nothing is being removed
			t.Errorf("moved %+v, want rows of every table", table)
		}
	}
	if moved["pets"] != 27 || moved["movements"] != 63 || moved["receipts"] != 31 {
		t.Errorf("moved %v, want 27 pets, 63 movements, and the receipts of 30 orders and a link", moved)
	}
	wantFileRefused(t, y)
	server := wantMoved(t, y)
	s := petstore.NewService(server)
	made, err := s.CreateOrder(t.Context(), 1, ordered(7, 8), once(7))
	if err != nil || !made.Replayed || made.ID != 8 {
		t.Errorf("the order 8 again = %+v, %v, want a replay", made, err)
	}
	pet, err := s.CreatePet(t.Context(), 1, petstore.NewPet{Name: "Next", CategoryID: 1}, nil)
	if err != nil || pet.ID != 31 {
		t.Errorf("the next pet = %d, %v, want 31", pet.ID, err)
	}
	w, err := server.CreateWorkspace(t.Context(), access.Workspace{Name: "next", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	if err != nil || w.ID != 3 {
		t.Errorf("the next workspace = %d, %v, want 3: 2 was deleted", w.ID, err)
	}
	limits, err := server.LoadLimits(t.Context())
	if err != nil || len(limits) != 2 {
		t.Errorf("LoadLimits = %+v, %v", limits, err)
	}
}

// TestMoveKnowsAllColumns: what the file has, the target has, too, but for what a move decides itself.
func TestMoveKnowsAllColumns(t *testing.T) {
	t.Parallel()
	url, _ := emptyDatabase(t)
	source, err := sqlite.OpenSource(t.Context(), newFile(t))
	ok(t, err)
	target, err := postgres.OpenTarget(t.Context(), url, time.Now)
	ok(t, err)
	tables, err := target.Tables()
	ok(t, err)
	var got []string
	for _, table := range tables {
		for _, column := range table.Columns {
			got = append(got, table.Name+"."+column)
		}
	}
	want, err := store.RowsOf(source, func(row store.Row, column *string) error { return row.Scan(column) },
		`SELECT t.name || '.' || c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c
		WHERE t.schema='main' AND t.type='table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> 'migrations' AND c.name <> 'only'`)
	ok(t, errors.Join(err, source.Close(), target.Close(t.Context())))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the columns of the target are %v, want %v", got, want)
	}
}

// TestMoveIsInterrupted: a move that is ended, at its beginning or at its end, leaves both
// sides as they were, and no node opens the target meanwhile.
func TestMoveIsInterrupted(t *testing.T) {
	t.Parallel()
	url, _ := emptyDatabase(t)
	y := try{from: newFile(t), to: url}
	for _, atEnd := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		y.onProgress = func(done, all int64) {
			if ctx.Err() != nil || atEnd && done < all {
				return
			}
			defer cancel()
			if _, err := postgres.Open(t.Context(), url, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "is being filled by petstore migrate-store") {
				t.Errorf("Open in the middle = %v, want a refusal", err)
			}
		}
		if _, err := y.run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("a run that was ended returned %v", err)
		}
		wantOpen(t, y.from)
	}
	y.onProgress = nil
	_, err := y.run(t.Context())
	ok(t, err)
	wantMoved(t, y)
}

// wantOpen fails the test unless the file can be used.
func wantOpen(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Readers: 1})
	ok(t, err)
	ok(t, db.Close())
}

// TestMoveFailsAtItsEnd: the file is marked as moved only when the target has everything.
func TestMoveFailsAtItsEnd(t *testing.T) {
	t.Parallel()
	fault := errors.New("the connection was lost")
	fails := func(name, want string, y try) {
		t.Helper()
		if _, err := y.run(t.Context()); !errors.Is(err, fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("a move that fails at the %s = %v, want %q", name, err, want)
		}
		wantOpen(t, y.from)
	}
	url, _ := emptyDatabase(t)
	y := try{from: newFile(t), to: url}
	y.commit = func(*postgres.Target) error { return fault }
	fails("commit", "the target has everything or nothing, and the source is as it was: ", y)
	y.commit, y.mark = nil, func(*sqlite.Source) error { return fault }
	fails("mark", "the target has everything, but the source could not be marked as moved, do not use it any more: ", y)
	other, _ := emptyDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	y = try{from: y.from, to: other, commit: func(target *postgres.Target) error {
		cancel()
		return target.Commit()
	}}
	_, err := y.run(ctx) // it is too late to end it
	ok(t, err)
	wantMoved(t, y)
}

// TestMoveWithoutStatistics: they are no reason to say that a move failed which did not.
func TestMoveWithoutStatistics(t *testing.T) {
	t.Parallel()
	url, _ := emptyDatabase(t)
	y := try{from: newFile(t), to: url, commit: func(target *postgres.Target) error {
		if _, err := target.Exec("ALTER TABLE movements RENAME TO moved"); err != nil {
			return err
		}
		return target.Commit()
	}}
	_, err := y.run(t.Context())
	ok(t, err)
}

// TestMoveFindsDifferences: a row that is lost on the way is missed, and nothing is moved.
func TestMoveFindsDifferences(t *testing.T) {
	t.Parallel()
	url, _ := emptyDatabase(t)
	y := try{from: newFile(t), to: url, loses: "receipts"}
	if _, err := y.run(t.Context()); err == nil || !strings.Contains(err.Error(), "the table receipts differs: ") {
		t.Fatalf("the move = %v, want a difference", err)
	}
	y.loses = ""
	_, err := y.run(t.Context())
	ok(t, err)
	wantMoved(t, y)
}

func TestMoveIsRefused(t *testing.T) {
	t.Parallel()
	from := newFile(t)
	wantRefused := func(t *testing.T, y try, want string) {
		t.Helper()
		if _, err := y.run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the move = %v, want %q", err, want)
		}
	}
	t.Run("no source", func(t *testing.T) {
		url, _ := emptyDatabase(t)
		wantRefused(t, try{from: from + ".not", to: url}, "petstore.db.not: the file does not exist")
	})
	t.Run("served source", func(t *testing.T) {
		url, _ := emptyDatabase(t)
		db, err := sqlite.Open(t.Context(), from, sqlite.Options{Readers: 1})
		ok(t, err)
		wantRefused(t, try{from: from, to: url}, "is in use: stop the server first")
		ok(t, db.Close())
	})
	t.Run("served target", func(t *testing.T) {
		url, _ := emptyDatabase(t)
		db, err := postgres.Open(t.Context(), url+"&application_name=shop", postgres.Options{})
		ok(t, err)
		_, err = db.AccessState(t.Context())
		ok(t, err)
		wantRefused(t, try{from: from, to: url}, "stop the nodes and the migrate-store that are connected to it first")
		ok(t, db.Close())
	})
	t.Run("other data", func(t *testing.T) {
		url, _ := emptyDatabase(t)
		db, err := postgres.Open(t.Context(), url, postgres.Options{})
		ok(t, err)
		_, err = db.CreateWorkspace(t.Context(), access.Workspace{Name: "other", Plan: access.Free, Quota: access.FreeQuota}, "cli")
		ok(t, errors.Join(err, db.Close()))
		wantRefused(t, try{from: from, to: url}, "the target holds other data (in the table ")
	})
}

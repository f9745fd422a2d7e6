package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/ops"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/postgres"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/sqlite"
	"example.com/petstore/internal/usage"
)

// actor is in whose name the commands change things.
const actor access.Actor = "cli"

// A store is what the node and the commands need of a database.
type store interface {
	petstore.Store
	petstore.Bulk
	access.Store
	ratelimit.Store
	usage.Store

	Check(ctx context.Context) ([]string, error)
	Err() error              // why it cannot take writes now; nil if it can
	Failed() <-chan struct{} // closed when it never will again; nil if that cannot be
	Close() error

	figures() ops.Storage
	// follow calls changed soon after another process changed a key, a plan or
	// a ban, if the database tells, and keeps Err true, until ctx ends.
	follow(ctx context.Context, changed func())
}

// A fileStore is SQLite.
type fileStore struct{ *sqlite.DB }

func (s fileStore) figures() ops.Storage {
	n := s.Stats()
	return ops.Storage{
		Groups: n.Groups, Writes: n.Writes, Lost: n.LostGroups, Largest: n.LargestGroup, Waiting: int64(n.Waiting),
		Readers: n.Readers, IdleReaders: n.IdleReaders,
	}
}

// follow does nothing: a file tells nobody, and its writer knows how it is.
func (fileStore) follow(context.Context, func()) {}

// A serverStore is PostgreSQL.
type serverStore struct{ *postgres.DB }

// Failed returns nil: whatever happens to the server, it may come back.
func (serverStore) Failed() <-chan struct{} { return nil }

func (s serverStore) figures() ops.Storage {
	n := s.Stats()
	return ops.Storage{
		Groups: n.Groups, Writes: n.Writes, Lost: n.LostGroups, Largest: n.LargestGroup, Waiting: int64(n.Waiting),
		Readers: n.Readers, IdleReaders: n.IdleReaders,
	}
}

func (s serverStore) follow(ctx context.Context, changed func()) {
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() { s.Watch(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.Notify():
			changed()
		}
	}
}

// A storeUse is what a store is opened for.
type storeUse struct {
	few     bool         // for a while: one connection for reading will do
	migrate bool         // make the database, and bring it up to date
	log     *slog.Logger // may be nil
}

// cachedAnimals is how many animals a server keeps in memory: some 5 MiB.
const cachedAnimals = 96 << 10

// checkURLs returns an error that names the setting if the URL of a database
// cannot be one. It asks no server.
func (a *app) checkURLs() error {
	for _, s := range [...]struct{ flag, url string }{{"db", a.config.DB}, {"db-read", a.config.DBRead}} {
		if s.url == "" || s.flag == "db" && !a.config.OnPostgres() {
			continue
		}
		if err := postgres.CheckURL(s.url); err != nil {
			return a.fault(s.flag, "%v", err)
		}
	}
	return nil
}

// openStore opens the database of the settings.
func (a *app) openStore(ctx context.Context, u storeUse) (store, error) {
	readers, cached := 0, cachedAnimals
	if u.few {
		readers, cached = 1, 0
	}
	if a.config.OnPostgres() {
		db, err := postgres.Open(ctx, a.config.DB, postgres.Options{
			Now: a.now, ReadURL: a.config.DBRead, Readers: readers, NoMigrate: !u.migrate, Log: u.log,
		})
		if err != nil {
			return nil, err
		}
		return serverStore{db}, nil
	}
	db, err := sqlite.Open(ctx, a.config.DB, sqlite.Options{Now: a.now, Readers: readers, Cached: cached, NoMigrate: !u.migrate, LeaveNames: u.few, Log: u.log})
	if err != nil {
		return nil, err
	}
	return fileStore{db}, nil
}

// withStore runs f on the database, which must exist and be up to date.
func (a *app) withStore(ctx context.Context, f func(store) error) error {
	return a.using(ctx, storeUse{few: true}, f)
}

// using runs f on the database, opened for u.
func (a *app) using(ctx context.Context, u storeUse, f func(store) error) (err error) {
	db, err := a.openStore(ctx, u)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(db)
}

// withFile runs f on the database, which must be a SQLite file.
func (a *app) withFile(ctx context.Context, o sqlite.Options, f func(*sqlite.DB) error) (err error) {
	o.Now, o.Readers, o.LeaveNames = a.now, 1, true
	db, err := sqlite.Open(ctx, a.config.DB, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(db)
}

// onlyFile returns an error that says what to do instead unless the database is
// a SQLite file.
func (a *app) onlyFile(what, instead string) error {
	if !a.config.OnPostgres() {
		return nil
	}
	return a.fault("db", "%s works on SQLite alone; %s", what, instead)
}

// database returns how the database is called, without its password.
func (a *app) database() string { return config.Redact(a.config.DB) }

// confirm returns nil if the operator means it: --yes was given, or answer is
// typed on the terminal. The end of ctx ends the question.
func (a *app) confirm(ctx context.Context, yes bool, what, answer string) error {
	if yes {
		return nil
	}
	if !terminal(a.in) {
		return usagef("--yes is needed to %s where there is no terminal to ask on", what)
	}
	fmt.Fprintf(a.err, "This will %s and cannot be undone. Type %s to go on: ", what, answer)
	line, err := bufio.NewReader(interruptible(ctx, a.in)).ReadString('\n')
	if ctx.Err() != nil {
		fmt.Fprintln(a.err)
		return ctx.Err()
	}
	if strings.TrimSpace(line) != answer {
		return errors.Join(errors.New("nothing was done"), err)
	}
	return nil
}

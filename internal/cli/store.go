package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
)

// actor is the name of the commands in the audit log.
const actor access.Actor = "cli"

// given reports whether a flag has a value from anywhere but its default.
func (a *app) given(flag string) bool { return a.origins.Of(flag) != config.Default }

// checkURLs returns an error that names the setting if the URL of the database
// cannot be one. It asks no server.
func (a *app) checkURLs() error {
	if !a.config.OnPostgres() {
		return nil
	}
	if err := postgres.CheckURL(a.config.DB); err != nil {
		return a.fault("db", "%v", err)
	}
	return nil
}

// withStore runs f on the database, which must exist and be up to date.
func (a *app) withStore(ctx context.Context, f func(node.Store) error) error {
	return a.withStoreFor(ctx, store.OpenOptions{NoMigrate: true}, f)
}

// withStoreFor runs f on the database, opened as o says.
func (a *app) withStoreFor(ctx context.Context, o store.OpenOptions, f func(node.Store) error) (err error) {
	o.Now, o.Readers = a.now, 1
	db, err := node.OpenStore(ctx, a.config, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := f(db); err != nil || o.ReadOnly {
		return err
	}
	return a.awaitServer(ctx, db)
}

// awaitServer waits until a server that runs on the database has read the change, so that its next response shows it.
func (a *app) awaitServer(ctx context.Context, db node.Store) error {
	followed, err := db.AwaitApplied(ctx)
	if err == nil && !followed {
		fmt.Fprintf(a.err, "petstore: the change is stored, but the server on %s has not picked it up within a second\n", a.database())
	}
	return err
}

// withReader runs f, which changes nothing, on the database.
func (a *app) withReader(ctx context.Context, f func(node.Store) error) error {
	return a.withStoreFor(ctx, store.OpenOptions{ReadOnly: true}, f)
}

// onlyFile returns an error that says what to do instead unless the database is
// a SQLite file.
func (a *app) onlyFile(what, instead string) error {
	if !a.config.OnPostgres() {
		return nil
	}
	return a.fault("db", "%s works on SQLite alone; %s", what, instead)
}

// database returns the path or the URL of the database without its password.
func (a *app) database() string { return config.Redact(a.config.DB) }

// confirm returns nil if --yes was given, or if the operator types answer on the terminal. It returns when ctx ends.
func (a *app) confirm(ctx context.Context, yes bool, what, answer string) error {
	if yes {
		return nil
	}
	if !terminal(a.in) {
		return usagef("--yes is needed to %s: there is no terminal to ask on", what)
	}
	fmt.Fprintf(a.err, "This will %s. It cannot be undone. Type %s to continue: ", what, answer)
	var line string
	err := interruptible(ctx, func() (err error) {
		line, err = bufio.NewReader(a.in).ReadString('\n')
		return err
	})
	if ctx.Err() != nil {
		fmt.Fprintln(a.err)
		return ctx.Err()
	}
	if strings.TrimSpace(line) != answer {
		return errors.Join(errors.New("nothing was done"), err)
	}
	return nil
}

// interruptible returns the result of read, or the error of ctx if that ends first. Then read still waits for its input,
// and what it sets must not be used.
func interruptible(ctx context.Context, read func() error) error {
	done := make(chan error, 1)
	go func() { done <- read() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spool copies a stream to a temporary file, until the stream or ctx ends. The file has no name any more, so that it is
// gone when the process ends, however that is.
func spool(ctx context.Context, from io.Reader) (*os.File, error) {
	temp, err := os.CreateTemp("", "petstore-import-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(temp.Name()); err != nil {
		return nil, errors.Join(err, temp.Close())
	}
	return temp, interruptible(ctx, func() error {
		_, err := io.Copy(temp, from)
		return err
	})
}

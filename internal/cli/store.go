package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/sqlite"
)

// actor is in whose name the commands change things.
const actor access.Actor = "cli"

// withStore runs f on the database, which must exist and be up to date.
func (a *app) withStore(ctx context.Context, f func(*sqlite.DB) error) error {
	return a.using(ctx, sqlite.Options{Now: a.now, Readers: 1, NoMigrate: true}, f)
}

// using runs f on the database that o opens.
func (a *app) using(ctx context.Context, o sqlite.Options, f func(*sqlite.DB) error) (err error) {
	db, err := sqlite.Open(ctx, a.config.DB, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(db)
}

// confirm returns nil if the operator means it: --yes was given, or answer is
// typed on the terminal.
func (a *app) confirm(yes bool, what, answer string) error {
	if yes {
		return nil
	}
	if !terminal(a.in) {
		return usagef("--yes is needed to %s where there is no terminal to ask on", what)
	}
	fmt.Fprintf(a.err, "This will %s and cannot be undone. Type %s to go on: ", what, answer)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if strings.TrimSpace(line) != answer {
		return errors.Join(errors.New("nothing was done"), err)
	}
	return nil
}

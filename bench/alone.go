package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sqlite"
)

// Alone compares one caller's order through the store, which would group it
// with others, with the same statements in a transaction of their own. Both are
// medians, in microseconds.
type alone struct {
	Store, Plain float64
}

// alonePets is how many pets the two databases have.
const alonePets = 10_000

// measureAlone is the child that compares, in turns, and prints an alone as
// JSON.
func measureAlone(ctx context.Context, args []string) error {
	dir, long, err := place(args)
	if err != nil {
		return err
	}
	store, plain := filepath.Join(dir, "store.db"), filepath.Join(dir, "plain.db")
	for _, path := range []string{store, plain} {
		if _, err := fill(ctx, path, alonePets); err != nil {
			return err
		}
	}
	result, err := compare(ctx, store, plain, long)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// compare places orders both ways, ten at a time. The first do not count: a log
// that still grows is slower than one that is written over.
func compare(ctx context.Context, store, plain string, long time.Duration) (a alone, err error) {
	db, err := sqlite.Open(ctx, store, sqlite.Options{})
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := openPlain(plain)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	service := petstore.NewService(db)
	ways := [2]func(int64) error{
		func(pet int64) error {
			_, err := service.CreateOrder(ctx, 1, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
			return err
		},
		func(pet int64) error { return orderPlain(conn, pet) },
	}
	var took [2][]time.Duration
	for began := time.Now(); time.Since(began) < long && ctx.Err() == nil; {
		for i, way := range ways {
			for range 10 {
				start := time.Now()
				if err := way(1 + rand.Int64N(alonePets)); err != nil {
					return a, err
				}
				took[i] = append(took[i], time.Since(start))
			}
		}
	}
	return alone{median(settled(took[0])), median(settled(took[1]))}, ctx.Err()
}

// settled leaves out the first half.
func settled(all []time.Duration) []time.Duration { return all[len(all)/2:] }

func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Nanoseconds()) / 1000
}

func openPlain(path string) (*driver.Conn, error) {
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{"PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// orderPlain places an order of one unit as a program without a store would,
// with prepared statements.
func orderPlain(conn *driver.Conn, pet int64) (err error) {
	var quantity, open, movements, before, id, entry int64
	var recent []byte
	now := time.Now().UnixMilli()
	do := func(query string, row func(*driver.Stmt), args ...any) {
		if err == nil {
			err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: func(s *driver.Stmt) error {
				row(s)
				return nil
			}})
		}
	}
	none := func(*driver.Stmt) {}
	do("BEGIN IMMEDIATE", none)
	do("SELECT quantity, open_orders, movements, last_entry, recent FROM pets WHERE workspace=1 AND id=?", func(s *driver.Stmt) {
		quantity, open, movements, before = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnInt64(3)
		recent = make([]byte, s.ColumnLen(4))
		s.ColumnBytes(4, recent)
	}, pet)
	do("UPDATE counters SET orders=orders+1, entries=entries+1 WHERE workspace=1 RETURNING orders, entries", func(s *driver.Stmt) {
		id, entry = s.ColumnInt64(0), s.ColumnInt64(1)
	})
	recent, ok := sqlite.AppendRecent(recent, petstore.Order{ID: id})
	if err == nil && !ok {
		err = errors.New("the pet has more orders than its row has room for")
	}
	do("UPDATE pets SET quantity=?2, open_orders=?3, movements=?4, last_entry=?5, recent=?6 WHERE workspace=1 AND id=?1",
		none, pet, quantity-1, open+1, movements+1, entry, recent)
	do("INSERT INTO orders (workspace, id, pet, quantity, complete) VALUES (1, ?, ?, 1, 0)", none, id, pet)
	do(`INSERT INTO movements (workspace, entry, before, pet, number, kind, order_id, delta, quantity, at)
		VALUES (1, ?, ?, ?, ?, 'placed', ?, -1, ?, ?)`, none, entry, before, pet, movements+1, id, quantity-1, now)
	do("COMMIT", none)
	return err
}

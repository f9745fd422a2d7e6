package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sqlite"
)

// A shop is a database with one workspace to work in.
type shop struct {
	path  string
	pets  int    // with the ids from 1 on, all with stock that no run can use up
	key   string // of a workspace whose limits are out of reach
	spent string // of a workspace that has one request a day
}

// stock is what every pet has to begin with, the greatest there can be.
const stock = 1_000_000_000

// categories is over how many the pets are spread.
const categories = 10

// fill makes a database with so many pets. The workspaces come through the
// store; the pets are written in bulk, each with the ledger's first entry.
func fill(ctx context.Context, path string, pets int) (*shop, error) {
	s := &shop{path: path, pets: pets}
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	id, key, err := open(ctx, db, "busy", access.Quota{PerMinute: access.MaxQuota, PerDay: access.MaxQuota})
	if err == nil {
		_, s.spent, err = open(ctx, db, "spent", access.Quota{PerMinute: 1, PerDay: 1})
	}
	s.key = key
	for i := 0; i < categories && err == nil; i++ {
		_, err = petstore.NewService(db).CreateCategory(ctx, id, petstore.NewCategory{Name: fmt.Sprintf("Kind %d", i)}, nil)
	}
	if err = errors.Join(err, db.Close()); err != nil || pets == 0 {
		return s, err
	}
	if err := fillPets(path, id, pets); err != nil {
		return nil, err
	}
	return s, indexNames(ctx, path)
}

// indexNames does at once what a server would do in the background while it is
// measured.
func indexNames(ctx context.Context, path string) error {
	db, err := sqlite.Open(ctx, path, sqlite.Options{NoMigrate: true, LeaveNames: true})
	if err != nil {
		return err
	}
	return errors.Join(db.IndexNames(ctx), db.Close())
}

// open makes a workspace and a key to it.
func open(ctx context.Context, db *sqlite.DB, name string, q access.Quota) (id int64, key string, err error) {
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: name, Plan: access.Enterprise, Quota: q, CreatedAt: time.Now()}, "bench")
	if err != nil {
		return 0, "", err
	}
	secret, prefix := access.Mint()
	err = db.CreateKey(ctx, access.Key{
		ID: access.MintID(), WorkspaceID: w.ID, Name: "bench", Prefix: prefix, Hash: access.HashOf(secret),
		Scopes: access.Read | access.Write, CreatedAt: time.Now(),
	}, "bench")
	return w.ID, secret, err
}

// fillPets writes the rows that as many calls of createPet and updateInventory
// would have left, but for a ledger of one entry instead of two.
func fillPets(path string, workspace int64, pets int) (err error) {
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < :pets) "
	now := time.Now().UnixMilli()
	for _, query := range []string{
		"PRAGMA synchronous=OFF", // of this connection; the file is new
		"BEGIN",
		numbers + `INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, last_entry, level, folded, recent)
			SELECT :workspace, i, printf('Beagle %07d', i), 1 + i % :categories, 'available', :stock, 0, 1, i, :level, printf('beagle %07d', i), x'' FROM n`,
		numbers + `INSERT INTO movements (workspace, entry, before, pet, number, kind, delta, quantity, at)
			SELECT :workspace, i, 0, i, 1, 'created', :stock, :stock, :now FROM n`,
		"UPDATE counters SET pets = :pets, entries = :pets WHERE workspace = :workspace",
		"COMMIT",
		"PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		named := map[string]any{":pets": pets, ":workspace": workspace, ":categories": categories, ":stock": stock, ":level": sqlite.LevelOf(stock), ":now": now}
		maps.DeleteFunc(named, func(name string, _ any) bool { return !strings.Contains(query, name) })
		if err := sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{Named: named}); err != nil {
			return err
		}
	}
	return nil
}

package store

import (
	"cmp"
	"context"

	"example.com/petstore/internal/access"
)

// A reset gives a workspace another shop, in one transaction, and a deletion ends its shop. From
// then on the shop has no counters, and so refuses writes; reads of it end as soon as a server
// has noticed the change. Its rows are then removed in many short transactions, so that other
// workspaces do not wait: a row in the table removals says so, which the last one removes. A
// removal that was interrupted is resumed from it.

// stepRows is how many rows one transaction removes.
const stepRows = 100

// ShopTables are the tables whose column workspace has the id of a shop. Those that
// refer to others come first. Key has the columns that identify a row, separated by commas.
var ShopTables = []struct{ Name, Key string }{
	{"receipts", "workspace, operation, key"},
	{"deliveries", "webhook, event"},
	{"events", "workspace, id"},
	{"movements", "workspace, id"},
	{"orders", "workspace, id"},
	{"pets", "workspace, id"},
	{"categories", "workspace, id"},
}

// DeleteSome returns a statement that deletes the rows of a table whose keys a query selects,
// which ends with where. All columns of the key must be compared: PostgreSQL then looks up
// each row by its key. With a condition for one of them beside, it may read all rows that
// fulfil that, as long as its statistics say that these are few.
func DeleteSome(table, key, where string) string {
	return "DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + key + " FROM " + table + " WHERE " + where + ")"
}

// CheckShop returns nil if there is a shop with the id. Otherwise it returns access.Resetting if a
// workspace had it until a reset, and CodeWorkspaceNotFound if none is known to. With the lock
// of the dialect the shop stays until the transaction ends.
func CheckShop(tx Tx, shop int64, lock string) error {
	found, err := exists(tx, "SELECT 1 FROM counters WHERE workspace = $1"+lock, shop)
	if err != nil || found {
		return err
	}
	return cmp.Or[error](HasWorkspace(tx, shop), access.Resetting())
}

// steps runs a statement that removes stepRows rows at most, in a transaction of [DB.WriteBulk],
// again and again until it removes fewer. It returns how many they were.
func (s *Store) steps(ctx context.Context, query string, args ...any) (removed int, err error) {
	for n := int64(stepRows); n == stepRows; {
		err = s.db.WriteBulk(ctx, 0, func(tx Tx) (err error) {
			n, err = tx.Exec(query, args...)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += int(n)
	}
	return removed, nil
}

// closeShop has the rows of a shop removed, whose counters are gone.
func closeShop(tx Tx, shop int64) error {
	if err := forgetImports(tx, shop); err != nil {
		return err
	}
	return exec(tx, "INSERT INTO removals (workspace) VALUES ($1) ON CONFLICT DO NOTHING", shop)
}

// Resume implements [access.Store].
func (s *Store) Resume(ctx context.Context) error {
	begun, err := s.numbers(ctx, "SELECT workspace FROM removals")
	for _, shop := range begun {
		if err == nil {
			err = s.removeShop(ctx, shop)
		}
	}
	return err
}

// RemoveBeyond implements [access.Sandboxes].
func (s *Store) RemoveBeyond(ctx context.Context, most int, shop int64) error {
	waiting, err := s.count(ctx, "SELECT count(*) FROM removals")
	if err != nil || waiting <= int64(most) {
		return err
	}
	return s.removeShop(ctx, shop)
}

// removeShop removes the rows of a shop in steps. Several callers may do so at the same time.
func (s *Store) removeShop(ctx context.Context, shop int64) (err error) {
	s.written(shop) // its readers see that it has ended
	for more := true; more && err == nil; {
		err = s.db.WriteBulk(ctx, shop, func(tx Tx) (err error) {
			more, err = removeSome(tx, shop)
			return err
		})
	}
	return err
}

// removeSome removes up to stepRows rows, table by table, and ends the removal if there are no
// more. It reports whether there may be some.
func removeSome(tx Tx, shop int64) (more bool, err error) {
	n, err := tx.Exec("UPDATE removals SET workspace = workspace WHERE workspace = $1", shop) // others wait for it
	if err != nil || n == 0 {
		return false, err
	}
	left := int64(stepRows)
	for _, t := range ShopTables {
		n, err := tx.Exec(DeleteSome(t.Name, t.Key, "workspace = $1 LIMIT $2"), shop, left)
		if left -= n; err != nil || left == 0 {
			return true, err
		}
	}
	return false, exec(tx, "DELETE FROM removals WHERE workspace = $1", shop)
}

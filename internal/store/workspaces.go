package store

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"golang.org/x/text/unicode/norm"
)

const selectWorkspaces = `SELECT id, name, plan, per_minute, per_day, created_at, low_stock, coalesce(shop, id), expires_at, catalogue FROM workspaces WHERE `

func scanWorkspace(row Row, w *access.Workspace) error {
	var sandbox access.Sandbox
	err := scan(row, &w.ID, &w.Name, (*string)(&w.Plan), &w.Quota.PerMinute, &w.Quota.PerDay, &w.CreatedAt, &w.LowStock, &w.Shop, &sandbox.ExpiresAt, &sandbox.Catalogue)
	if !sandbox.ExpiresAt.IsZero() {
		w.Sandbox = &sandbox
	}
	return err
}

// workspaces returns the workspaces that a condition selects.
func workspaces(tx Tx, where string, args ...any) ([]access.Workspace, error) {
	return RowsOf(tx, scanWorkspace, selectWorkspaces+where, args...)
}

// workspace returns the workspace of that name or CodeWorkspaceNotFound.
func workspace(tx Tx, name string) (access.Workspace, error) {
	missing := petstore.Errorf(access.CodeWorkspaceNotFound, "There is no workspace named %q.", name)
	return rowOf(tx, missing, scanWorkspace, selectWorkspaces+"name = $1", norm.NFC.String(name)) // as names are kept
}

func workspaceByID(tx Tx, id int64) (access.Workspace, error) {
	return rowOf(tx, NoWorkspace(id), scanWorkspace, selectWorkspaces+"id = $1", id)
}

// selectOwner selects the workspace with an id, or with the shop.
const selectOwner = "SELECT id FROM workspaces WHERE id = $1 OR shop = $1"

// HasWorkspace returns CodeWorkspaceNotFound unless there is one with the id, or with the shop.
func HasWorkspace(tx Tx, id int64) error {
	found, err := exists(tx, selectOwner, id)
	if err == nil && !found {
		err = NoWorkspace(id)
	}
	return err
}

// NoWorkspace returns the error for a workspace that does not exist.
func NoWorkspace(id int64) error {
	return petstore.Errorf(access.CodeWorkspaceNotFound, "There is no workspace with the id %d.", id)
}

// CreateWorkspace implements [access.Store]. It chooses the id, and the time of
// creation if w has none.
func (s *Store) CreateWorkspace(ctx context.Context, w access.Workspace, by access.Actor) (access.Workspace, error) {
	if w.CreatedAt.IsZero() {
		w.CreatedAt = s.now()
	}
	return result(ctx, s.db.Change, func(tx Tx) (access.Workspace, error) {
		if err := s.insertWorkspace(tx, &w, ""); err != nil {
			return w, err
		}
		return w, s.audit(tx, w.ID, by, "workspace.create", w.Name, planDetail(w))
	})
}

// insertWorkspace adds a workspace with its shop unless its name is taken, a sandbox with the
// address that made it. It fills in what the store chooses.
func (s *Store) insertWorkspace(tx Tx, w *access.Workspace, from string) error {
	if err := checkNameFree(tx, w.Name); err != nil {
		return err
	}
	w.CreatedAt, w.LowStock = instant(w.CreatedAt.UnixMilli()), access.DefaultLowStock
	var end any // of a sandbox
	var catalogue string
	if w.Sandbox != nil {
		end, catalogue = w.Sandbox.ExpiresAt.UnixMilli(), w.Sandbox.Catalogue
	}
	id, err := number(tx, `INSERT INTO workspaces (name, plan, per_minute, per_day, created_at, low_stock, expires_at, catalogue, made_from)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id`,
		w.Name, string(w.Plan), w.Quota.PerMinute, w.Quota.PerDay, w.CreatedAt.UnixMilli(), w.LowStock, end, catalogue, from)
	if err != nil {
		return err
	}
	w.ID, w.Shop = id, id
	return s.openShop(tx, id)
}

// checkNameFree returns CodeWorkspaceExists if a workspace has the name.
func checkNameFree(tx Tx, name string) error {
	taken, err := exists(tx, "SELECT 1 FROM workspaces WHERE name = $1", name)
	if err == nil && taken {
		err = petstore.Errorf(access.CodeWorkspaceExists, "There is already a workspace named %q.", name)
	}
	return err
}

// openShop creates the counters of a shop.
func (s *Store) openShop(tx Tx, shop int64) error {
	forgotten := 0
	if s.noEvents {
		forgotten = 1 // once events are written, who reads from the beginning gets events_expired
	}
	return exec(tx, "INSERT INTO counters (workspace, forgotten) VALUES ($1, $2)", shop, forgotten)
}

func planDetail(w access.Workspace) string {
	return fmt.Sprintf("plan %s, %d a minute, %d a day", w.Plan, w.Quota.PerMinute, w.Quota.PerDay)
}

// Workspaces implements [access.Store].
func (s *Store) Workspaces(ctx context.Context, from, limit int) ([]access.Workspace, error) {
	return readRows(ctx, s, scanWorkspace, selectWorkspaces+"true ORDER BY name LIMIT $1 OFFSET $2", limit, from)
}

// CountWorkspaces implements [access.Store].
func (s *Store) CountWorkspaces(ctx context.Context) (int64, error) {
	return s.count(ctx, "SELECT count(*) FROM workspaces")
}

// CountOverQuota implements [access.Store].
func (s *Store) CountOverQuota(ctx context.Context) (int64, error) {
	return s.count(ctx, overQuota, s.today(), s.now().UnixMilli()-time.Minute.Milliseconds())
}

// count returns the number that a query selects.
func (s *Store) count(ctx context.Context, query string, args ...any) (int64, error) {
	return read(ctx, s, func(tx Tx) (int64, error) { return number(tx, query, args...) })
}

// WorkspacePage implements [access.Store].
func (s *Store) WorkspacePage(ctx context.Context, after int64, limit int, names ...string) ([]access.Workspace, error) {
	q, some := &statement{}, []any{""} // which is no name
	for _, name := range names {
		some = append(some, name)
	}
	where := "id > " + q.arg(after)
	if len(names) > 0 {
		where += " AND " + q.in("name", some)
	}
	where += " ORDER BY id LIMIT " + q.arg(limit)
	return readRows(ctx, s, scanWorkspace, selectWorkspaces+where, q.args...)
}

// Workspace implements [access.Store].
func (s *Store) Workspace(ctx context.Context, name string) (access.Workspace, error) {
	return read(ctx, s, func(tx Tx) (access.Workspace, error) { return workspace(tx, name) })
}

// WorkspaceByID implements [access.Store].
func (s *Store) WorkspaceByID(ctx context.Context, id int64) (access.Workspace, error) {
	return read(ctx, s, func(tx Tx) (access.Workspace, error) { return workspaceByID(tx, id) })
}

// changeWorkspace calls f with a workspace that is locked by lockShop, and adds an entry with
// the action and the detail that f returns. If the action is "", f has changed nothing.
func (s *Store) changeWorkspace(ctx context.Context, id int64, by access.Actor, f func(Tx, *access.Workspace) (action, detail string, err error)) (access.Workspace, error) {
	return result(ctx, s.db.Change, func(tx Tx) (access.Workspace, error) {
		w, err := lockShop(tx, id)
		if err != nil {
			return w, err
		}
		name := w.Name // as it was, should f change it
		action, detail, err := f(tx, &w)
		if err != nil || action == "" {
			return w, err
		}
		if err := changed(tx); err != nil {
			return w, err
		}
		return w, s.audit(tx, id, by, action, name, detail)
	})
}

// UpdateWorkspace implements [access.Store].
func (s *Store) UpdateWorkspace(ctx context.Context, id int64, by access.Actor, edit func(*access.Workspace)) (access.Workspace, error) {
	return s.changeWorkspace(ctx, id, by, func(tx Tx, w *access.Workspace) (action, detail string, err error) {
		before := *w
		edit(w)
		switch {
		case w.Name != before.Name:
			action, detail, err = "workspace.rename", "renamed to "+w.Name, checkNameFree(tx, w.Name)
		case w.Plan != before.Plan || w.Quota != before.Quota:
			action, detail = "workspace.set_plan", planDetail(*w)
		case w.LowStock != before.LowStock:
			action, detail = "workspace.set_low_stock", fmt.Sprintf("%d units or fewer", w.LowStock)
		}
		if err != nil || action == "" {
			return "", "", err
		}
		return action, detail, exec(tx, "UPDATE workspaces SET name = $1, plan = $2, per_minute = $3, per_day = $4, low_stock = $5 WHERE id = $6",
			w.Name, string(w.Plan), w.Quota.PerMinute, w.Quota.PerDay, w.LowStock, w.ID)
	})
}

// Contents implements [access.Store].
func (s *Store) Contents(ctx context.Context, shop, few int64) (access.Contents, error) {
	number := func(table string) string {
		return fmt.Sprintf("CASE WHEN c.%[1]s < $1 THEN c.%[1]s ELSE (SELECT count(*) FROM %[1]s t WHERE t.workspace = $2) END", table)
	}
	query := "SELECT " + number("categories") + ", " + number("pets") + ", " + number("orders") + " FROM counters c WHERE c.workspace = $2"
	scan := func(row Row, c *access.Contents) error { return row.Scan(&c.Categories, &c.Pets, &c.Orders) }
	return read(ctx, s, func(tx Tx) (access.Contents, error) { return rowOf(tx, NoWorkspace(shop), scan, query, few, shop) })
}

// ResetWorkspace implements [access.Store].
func (s *Store) ResetWorkspace(ctx context.Context, workspace int64, by access.Actor) error {
	var before int64
	_, err := s.changeWorkspace(ctx, workspace, by, func(tx Tx, w *access.Workspace) (action, detail string, err error) {
		before = w.Shop
		return "workspace.reset", "catalogue, orders, ledger and receipts removed", s.renewShop(tx, w, nil)
	})
	if err == nil {
		s.written(before) // its readers see that it has ended
	}
	return err
}

// DeleteWorkspace implements [access.Store].
func (s *Store) DeleteWorkspace(ctx context.Context, workspace int64, by access.Actor) error {
	w, err := s.changeWorkspace(ctx, workspace, by, func(tx Tx, w *access.Workspace) (action, detail string, err error) {
		return "workspace.delete", "removed with its keys, catalogue and orders", removeWorkspace(tx, w)
	})
	if err == nil {
		s.written(w.Shop)
	}
	return err
}

// removeWorkspace removes a workspace, its keys and its usage. The rows of its shop are still to be
// removed, and the change to be recorded.
func removeWorkspace(tx Tx, w *access.Workspace) error {
	if err := endShop(tx, w.Shop); err != nil {
		return err
	}
	var b Batch
	for _, query := range []string{
		"DELETE FROM console_sessions WHERE key_id IN (SELECT id FROM api_keys WHERE workspace = $1)",
		"DELETE FROM api_keys WHERE workspace = $1",
		"DELETE FROM usage WHERE workspace = $1",
		"DELETE FROM workspaces WHERE id = $1",
	} {
		b.Exec(query, w.ID)
	}
	b.Exec("DELETE FROM receipts WHERE workspace = $1", -w.ID) // see once
	b.Exec("DELETE FROM limit_windows WHERE subject = $1", fmt.Sprint("w:", w.ID))
	return tx.Run(&b)
}

// endShop closes a shop for good, with its webhooks. It waits for the writes under way.
func endShop(tx Tx, shop int64) error {
	var b Batch
	b.Exec("DELETE FROM counters WHERE workspace = $1", shop)
	b.Exec("DELETE FROM webhooks WHERE workspace = $1", shop)
	if err := tx.Run(&b); err != nil {
		return err
	}
	return closeShop(tx, shop)
}

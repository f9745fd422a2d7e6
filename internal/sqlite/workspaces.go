package sqlite

import (
	"context"
	"fmt"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const workspaceColumns = "id, name, plan, per_minute, per_day, created_at"

func scanWorkspace(row *sqlite.Stmt) access.Workspace {
	return access.Workspace{
		ID: row.ColumnInt64(0), Name: row.ColumnText(1), Plan: access.Plan(row.ColumnText(2)),
		Quota:     access.Quota{PerMinute: row.ColumnInt64(3), PerDay: row.ColumnInt64(4)},
		CreatedAt: instant(row, 5),
	}
}

// workspace returns the workspace of that name or CodeWorkspaceNotFound.
func (c *conn) workspace(name string) (w access.Workspace, err error) {
	found, err := c.one("SELECT "+workspaceColumns+" FROM workspaces WHERE name=?",
		func(row *sqlite.Stmt) { w = scanWorkspace(row) }, name)
	if err == nil && !found {
		err = petstore.Errorf(access.CodeWorkspaceNotFound, "There is no workspace named %q.", name)
	}
	return w, err
}

// hasWorkspace returns CodeWorkspaceNotFound unless there is one with the id.
func (c *conn) hasWorkspace(id int64) error {
	found, err := c.one("SELECT 1 FROM workspaces WHERE id=?", func(*sqlite.Stmt) {}, id)
	if err == nil && !found {
		err = petstore.Errorf(access.CodeWorkspaceNotFound, "There is no workspace with the id %d.", id)
	}
	return err
}

// nextState returns the number to stamp on the rows of a change of access.
func (c *conn) nextState() (state int64, err error) {
	err = c.each("UPDATE access_state SET state=state+1 RETURNING state", func(row *sqlite.Stmt) { state = row.ColumnInt64(0) })
	return state, err
}

// audit writes a line of the audit log.
func (db *DB) audit(c *conn, by access.Actor, action, subject, detail string) error {
	return c.exec("INSERT INTO audit (at, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?)",
		db.now().UnixMilli(), string(by), action, subject, detail)
}

// CreateWorkspace implements [access.Store]. It chooses the id, and the
// creation's instant if w has none.
func (db *DB) CreateWorkspace(ctx context.Context, w access.Workspace, by access.Actor) (access.Workspace, error) {
	if w.CreatedAt.IsZero() {
		w.CreatedAt = db.now()
	}
	err := db.change(ctx, func(c *conn) (err error) {
		w, err = db.createWorkspace(c, w, by)
		return err
	})
	if err != nil {
		return access.Workspace{}, err
	}
	return w, nil
}

func (db *DB) createWorkspace(c *conn, w access.Workspace, by access.Actor) (access.Workspace, error) {
	switch _, err := c.workspace(w.Name); {
	case err == nil:
		return w, petstore.Errorf(access.CodeWorkspaceExists, "There is already a workspace named %q.", w.Name)
	case petstore.CodeOf(err) != access.CodeWorkspaceNotFound:
		return w, err
	}
	state, err := c.nextState()
	if err != nil {
		return w, err
	}
	err = c.each("INSERT INTO workspaces (name, plan, per_minute, per_day, created_at, state) VALUES (?, ?, ?, ?, ?, ?) RETURNING "+workspaceColumns,
		func(row *sqlite.Stmt) { w = scanWorkspace(row) },
		w.Name, string(w.Plan), w.Quota.PerMinute, w.Quota.PerDay, w.CreatedAt.UnixMilli(), state)
	if err != nil {
		return w, err
	}
	if err := c.exec("INSERT INTO counters (workspace) VALUES (?)", w.ID); err != nil {
		return w, err
	}
	return w, db.audit(c, by, "workspace.create", w.Name, planDetail(w))
}

func planDetail(w access.Workspace) string {
	return fmt.Sprintf("plan %s, %d a minute, %d a day", w.Plan, w.Quota.PerMinute, w.Quota.PerDay)
}

// Workspaces implements [access.Store].
func (db *DB) Workspaces(ctx context.Context) ([]access.Workspace, error) {
	all := []access.Workspace{}
	err := db.read(ctx, func(c *conn) error {
		return c.each("SELECT "+workspaceColumns+" FROM workspaces ORDER BY name",
			func(row *sqlite.Stmt) { all = append(all, scanWorkspace(row)) })
	})
	return all, err
}

// Workspace implements [access.Store].
func (db *DB) Workspace(ctx context.Context, name string) (w access.Workspace, err error) {
	err = db.read(ctx, func(c *conn) (err error) {
		w, err = c.workspace(name)
		return err
	})
	return w, err
}

// SetPlan implements [access.Store].
func (db *DB) SetPlan(ctx context.Context, name string, p access.Plan, q access.Quota, by access.Actor) (w access.Workspace, err error) {
	err = db.change(ctx, func(c *conn) error {
		if w, err = c.workspace(name); err != nil {
			return err
		}
		w.Plan, w.Quota = p, q
		state, err := c.nextState()
		if err != nil {
			return err
		}
		if err := c.exec("UPDATE workspaces SET plan=?, per_minute=?, per_day=?, state=? WHERE id=?",
			string(p), q.PerMinute, q.PerDay, state, w.ID); err != nil {
			return err
		}
		return db.audit(c, by, "workspace.set_plan", name, planDetail(w))
	})
	if err != nil {
		return access.Workspace{}, err
	}
	return w, nil
}

// shopTables hold the rows of shops, those that refer to others first.
var shopTables = [...]string{"receipts", "movements", "departed", "orders", "pet_orders", "pets", "categories", "name_grams", "name_segments"}

func (c *conn) emptyShop(workspace int64) error {
	for _, table := range shopTables {
		if err := c.exec("DELETE FROM "+table+" WHERE workspace=?", workspace); err != nil {
			return err
		}
	}
	return nil
}

// ResetWorkspace implements [access.Store].
func (db *DB) ResetWorkspace(ctx context.Context, name string, by access.Actor) error {
	return db.change(ctx, func(c *conn) error {
		w, err := c.workspace(name)
		if err != nil {
			return err
		}
		if err := c.emptyShop(w.ID); err != nil {
			return err
		}
		state, err := c.nextState()
		if err != nil {
			return err
		}
		if err := c.exec("UPDATE workspaces SET state=? WHERE id=?", state, w.ID); err != nil {
			return err
		}
		return db.audit(c, by, "workspace.reset", name, "catalogue, orders, ledger and receipts removed")
	})
}

// DeleteWorkspace implements [access.Store].
func (db *DB) DeleteWorkspace(ctx context.Context, name string, by access.Actor) error {
	return db.change(ctx, func(c *conn) error {
		w, err := c.workspace(name)
		if err != nil {
			return err
		}
		if err := c.emptyShop(w.ID); err != nil {
			return err
		}
		if err := c.removeWorkspace(w.ID); err != nil {
			return err
		}
		return db.audit(c, by, "workspace.delete", name, "removed with its keys and its shop")
	})
}

// removeWorkspace removes an empty workspace and its keys, and raises the floor:
// nobody learns of a deletion from a row.
func (c *conn) removeWorkspace(id int64) error {
	for _, query := range []string{
		"DELETE FROM limit_keys WHERE workspace=?",
		"DELETE FROM limit_windows WHERE subject='w:'||?",
		"DELETE FROM usage WHERE workspace=?",
		"DELETE FROM api_keys WHERE workspace=?",
		"DELETE FROM counters WHERE workspace=?",
		"DELETE FROM workspaces WHERE id=?",
	} {
		if err := c.exec(query, id); err != nil {
			return err
		}
	}
	return c.exec("UPDATE access_state SET state=state+1, floor=state+1")
}

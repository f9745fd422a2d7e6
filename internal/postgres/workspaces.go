package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const workspaceColumns = "id, name, plan, per_minute, per_day, created_at"

func scanWorkspace(row pgx.Row, w *access.Workspace) error {
	var created int64
	err := row.Scan(&w.ID, &w.Name, &w.Plan, &w.Quota.PerMinute, &w.Quota.PerDay, &created)
	w.CreatedAt = instantOf(&created)
	return err
}

// workspace returns the workspace of that name or CodeWorkspaceNotFound.
func workspace(ctx context.Context, c querier, name string) (w access.Workspace, err error) {
	err = pgx.ErrNoRows
	if storable(name) {
		err = scanWorkspace(c.QueryRow(ctx, "SELECT "+workspaceColumns+" FROM workspaces WHERE name = $1", name), &w)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return w, petstore.Errorf(access.CodeWorkspaceNotFound, "There is no workspace named %q.", name)
	}
	return w, err
}

// hasWorkspace returns CodeWorkspaceNotFound unless there is one with the id.
func hasWorkspace(ctx context.Context, c querier, id int64) error {
	var found bool
	err := c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM workspaces WHERE id = $1)", id).Scan(&found)
	if err == nil && !found {
		err = noWorkspace(id)
	}
	return err
}

func noWorkspace(id int64) error {
	return petstore.Errorf(access.CodeWorkspaceNotFound, "There is no workspace with the id %d.", id)
}

// CreateWorkspace implements [access.Store]. It chooses the id, and the
// creation's instant if w has none.
func (db *DB) CreateWorkspace(ctx context.Context, w access.Workspace, by access.Actor) (made access.Workspace, err error) {
	if w.CreatedAt.IsZero() {
		w.CreatedAt = db.now()
	}
	err = db.change(ctx, func(x *txn) (err error) {
		made, err = x.createWorkspace(w, by)
		return err
	})
	if err != nil {
		return access.Workspace{}, err
	}
	return made, nil
}

func (x *txn) createWorkspace(w access.Workspace, by access.Actor) (access.Workspace, error) {
	if err := x.lockAccess(); err != nil {
		return w, err
	}
	switch _, err := workspace(x.ctx, x, w.Name); {
	case err == nil:
		return w, petstore.Errorf(access.CodeWorkspaceExists, "There is already a workspace named %q.", w.Name)
	case petstore.CodeOf(err) != access.CodeWorkspaceNotFound:
		return w, err
	}
	state, err := x.nextState()
	if err != nil {
		return w, err
	}
	row := x.QueryRow(x.ctx, `INSERT INTO workspaces (name, plan, per_minute, per_day, created_at, state)
		VALUES ($1, $2, $3, $4, $5, $6) RETURNING `+workspaceColumns,
		w.Name, string(w.Plan), w.Quota.PerMinute, w.Quota.PerDay, w.CreatedAt.UnixMilli(), state)
	if err := scanWorkspace(row, &w); err != nil {
		return w, err
	}
	if err := x.exec("INSERT INTO counters (workspace) VALUES ($1)", w.ID); err != nil {
		return w, err
	}
	return w, x.audit(by, "workspace.create", w.Name, planDetail(w))
}

func planDetail(w access.Workspace) string {
	return fmt.Sprintf("plan %s, %d a minute, %d a day", w.Plan, w.Quota.PerMinute, w.Quota.PerDay)
}

// readAccess calls f with a connection to the primary.
func (db *DB) readAccess(ctx context.Context, f func(querier) error) error {
	return onPool(ctx, db.readers, func(c *pgxpool.Conn) error { return f(c) })
}

// Workspaces implements [access.Store].
func (db *DB) Workspaces(ctx context.Context) (all []access.Workspace, err error) {
	err = db.readAccess(ctx, func(c querier) error {
		all, err = collect(ctx, c, scanWorkspace, "SELECT "+workspaceColumns+" FROM workspaces ORDER BY name")
		return err
	})
	return all, err
}

// Workspace implements [access.Store].
func (db *DB) Workspace(ctx context.Context, name string) (w access.Workspace, err error) {
	err = db.readAccess(ctx, func(c querier) error {
		w, err = workspace(ctx, c, name)
		return err
	})
	return w, err
}

// SetPlan implements [access.Store].
func (db *DB) SetPlan(ctx context.Context, name string, p access.Plan, q access.Quota, by access.Actor) (w access.Workspace, err error) {
	err = db.change(ctx, func(x *txn) error {
		if err := x.lockAccess(); err != nil {
			return err
		}
		if w, err = workspace(ctx, x, name); err != nil {
			return err
		}
		w.Plan, w.Quota = p, q
		state, err := x.nextState()
		if err != nil {
			return err
		}
		if err := x.exec("UPDATE workspaces SET plan = $1, per_minute = $2, per_day = $3, state = $4 WHERE id = $5",
			string(p), q.PerMinute, q.PerDay, state, w.ID); err != nil {
			return err
		}
		return x.audit(by, "workspace.set_plan", name, planDetail(w))
	})
	if err != nil {
		return access.Workspace{}, err
	}
	return w, nil
}

// shopTables returns the tables that hold the rows of shops, those that refer
// to others first.
func shopTables() []string { return []string{"receipts", "movements", "orders", "pets", "categories"} }

// emptyShop removes the rows of a workspace's shop, and then keeps other changes
// of access waiting: not before, since it may take long.
func (x *txn) emptyShop(name string) (access.Workspace, error) {
	w, err := workspace(x.ctx, x, name)
	if err != nil {
		return w, err
	}
	if err := x.lockShop(w.ID); err != nil {
		return w, err
	}
	for _, table := range shopTables() {
		if err := x.exec("DELETE FROM "+table+" WHERE workspace = $1", w.ID); err != nil {
			return w, err
		}
	}
	if err := x.lockAccess(); err != nil {
		return w, err
	}
	return workspace(x.ctx, x, name) // somebody else may have deleted it
}

// ResetWorkspace implements [access.Store]. Writes to the workspace meanwhile
// return petstore.Unavailable.
func (db *DB) ResetWorkspace(ctx context.Context, name string, by access.Actor) error {
	return db.change(ctx, func(x *txn) error {
		w, err := x.emptyShop(name)
		if err != nil {
			return err
		}
		state, err := x.nextState()
		if err != nil {
			return err
		}
		if err := x.exec("UPDATE workspaces SET state = $1 WHERE id = $2", state, w.ID); err != nil {
			return err
		}
		return x.audit(by, "workspace.reset", name, "catalogue, orders, ledger and receipts removed")
	})
}

// DeleteWorkspace implements [access.Store]. Writes to the workspace meanwhile
// return petstore.Unavailable.
func (db *DB) DeleteWorkspace(ctx context.Context, name string, by access.Actor) error {
	return db.change(ctx, func(x *txn) error {
		w, err := x.emptyShop(name)
		if err != nil {
			return err
		}
		if err := x.removeWorkspace(w.ID); err != nil {
			return err
		}
		return x.audit(by, "workspace.delete", name, "removed with its keys and its shop")
	})
}

// removeWorkspace removes an empty workspace and its keys, and raises the floor:
// nobody learns of a deletion from a row.
func (x *txn) removeWorkspace(id int64) error {
	if err := x.exec("DELETE FROM limit_windows WHERE subject = $1", "w:"+strconv.FormatInt(id, 10)); err != nil {
		return err
	}
	for _, query := range []string{
		"DELETE FROM limit_keys WHERE workspace = $1",
		"DELETE FROM api_keys WHERE workspace = $1",
		"DELETE FROM counters WHERE workspace = $1",
		"DELETE FROM usage WHERE workspace = $1",
		"DELETE FROM workspaces WHERE id = $1",
	} {
		if err := x.exec(query, id); err != nil {
			return err
		}
	}
	return x.exec("UPDATE access_state SET state = state + 1, floor = state + 1")
}

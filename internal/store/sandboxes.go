package store

import (
	"context"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// The pets, orders and events of a workspace have in their column workspace the id of its shop.
// At first that is the id of the workspace. A reset gives it another shop, whose id no workspace
// has, in one transaction whose cost does not depend on the old rows.

// expireAtOnce is how many sandboxes one transaction ends.
const expireAtOnce = 200

// CreateSandbox implements [access.Sandboxes].
func (s *Store) CreateSandbox(ctx context.Context, n access.NewSandbox) (access.Workspace, error) {
	return result(ctx, s.db.Change, func(tx Tx) (access.Workspace, error) {
		w := n.Workspace
		if err := s.roomForSandbox(tx, &n); err != nil {
			return w, err
		}
		if err := s.insertWorkspace(tx, &w, n.From); err != nil {
			return w, err
		}
		for _, k := range n.Keys {
			k.WorkspaceID = w.ID
			if err := saveKey(tx, k); err != nil {
				return w, err
			}
		}
		return w, s.fillShop(tx, w.Shop, n.Rows)
	})
}

// roomForSandbox returns an error if one more sandbox would be too many. Changes run one
// after the other, so the count is right for concurrent requests too.
func (s *Store) roomForSandbox(tx Tx, n *access.NewSandbox) error {
	now := s.now()
	if n.PerAddress > 0 {
		began := now.Add(-access.SandboxHour).UnixMilli()
		oldest, err := number(tx, "SELECT created_at FROM workspaces WHERE expires_at IS NOT NULL AND made_from = $1 AND created_at > $2 ORDER BY created_at DESC LIMIT 1 OFFSET $3",
			n.From, began, n.PerAddress-1)
		if err != nil {
			return err
		}
		if oldest > 0 {
			e := petstore.Errorf(access.CodeTooManySandboxes, "An address can create %d sandboxes an hour. Use one of those, or wait as Retry-After says.", n.PerAddress)
			e.RetryAfter = min(time.Duration(oldest-began)*time.Millisecond, access.SandboxHour)
			return e
		}
	}
	if n.Most > 0 {
		first, err := number(tx, "SELECT min(expires_at) FROM workspaces WHERE expires_at IS NOT NULL HAVING count(*) >= $1", n.Most)
		if err != nil {
			return err
		}
		if first > 0 {
			e := petstore.Errorf(access.CodeSandboxesFull, "There are %d sandboxes, and can be no more. Wait as Retry-After says.", n.Most)
			e.RetryAfter = max(instant(first).Sub(now), time.Minute) // they are ended each minute
			return e
		}
	}
	return nil
}

// fillShop adds the rows to a new shop.
func (s *Store) fillShop(tx Tx, shop int64, rows []petstore.Unit) error {
	return (&load{Group: s.group(nil), shop: shop, batch: &petstore.Batch{Units: rows}}).run(tx)
}

// lockShop locks the row of a workspace, so that its shop stays the same until the
// transaction ends, and returns the workspace.
func lockShop(tx Tx, workspace int64) (access.Workspace, error) {
	if err := exec(tx, "UPDATE workspaces SET shop = shop WHERE id = $1", workspace); err != nil {
		return access.Workspace{}, err
	}
	return workspaceByID(tx, workspace)
}

// renewShop gives a workspace, which is locked, another shop. A sandbox begins anew in it, with the
// rows. Any other workspace goes on with its ids and its webhooks, and with an event that tells
// of the reset.
func (s *Store) renewShop(tx Tx, w *access.Workspace, rows []petstore.Unit) error {
	shop, err := number(tx, s.dialect.NextWorkspace)
	if err != nil {
		return err
	}
	if err := exec(tx, "UPDATE workspaces SET shop = $1 WHERE id = $2", shop, w.ID); err != nil {
		return err
	}
	if w.Sandbox != nil {
		if err := endShop(tx, w.Shop); err != nil {
			return err
		}
		if err := s.openShop(tx, shop); err != nil {
			return err
		}
		return s.fillShop(tx, shop, rows)
	}
	var b Batch
	b.Exec("UPDATE counters SET workspace = $1 WHERE workspace = $2", shop, w.Shop) // waits for writes under way
	b.Exec("UPDATE webhooks SET workspace = $1 WHERE workspace = $2", shop, w.Shop)
	b.Exec("UPDATE counters SET forgotten = events WHERE forgotten < events AND workspace = $1", shop)
	if !s.noEvents {
		b.Exec("UPDATE counters SET events = forgotten + 1 WHERE workspace = $1", shop)
		b.Exec(tellReset+" WHERE workspace = $2", s.now().UnixMilli(), shop)
	}
	if err := tx.Run(&b); err != nil {
		return err
	}
	return closeShop(tx, w.Shop)
}

// ResetSandbox implements [access.Sandboxes].
func (s *Store) ResetSandbox(ctx context.Context, workspace int64, rows []petstore.Unit) (int64, error) {
	before, err := result(ctx, s.db.Write, func(tx Tx) (int64, error) {
		w, err := lockShop(tx, workspace)
		if err != nil {
			return 0, err
		}
		if w.Sandbox == nil {
			return 0, petstore.Errorf(access.CodeNotASandbox, "This workspace is no sandbox. Only a sandbox can be reset by its keys.")
		}
		return w.Shop, s.renewShop(tx, &w, rows)
	})
	if err == nil {
		s.written(before) // its readers see that it has ended
	}
	return before, err
}

// EndSandboxes implements [access.Sandboxes].
func (s *Store) EndSandboxes(ctx context.Context) error {
	now := s.now().UnixMilli()
	for {
		expired, err := s.numbers(ctx, "SELECT id FROM workspaces WHERE expires_at <= $1 LIMIT 1", now)
		if err != nil || len(expired) == 0 {
			return err
		}
		err = s.db.Change(ctx, func(tx Tx) error {
			if err := exec(tx, "UPDATE workspaces SET shop = shop WHERE expires_at <= $1", now); err != nil { // none is reset meanwhile
				return err
			}
			due, err := workspaces(tx, "expires_at <= $1 ORDER BY coalesce(shop, id) LIMIT $2", now, expireAtOnce)
			for i := range due {
				if err == nil {
					err = removeWorkspace(tx, &due[i])
				}
			}
			if err != nil || len(due) == 0 {
				return err
			}
			return changed(tx)
		})
		if err != nil {
			return err
		}
	}
}

// CountSandboxes implements [access.Sandboxes].
func (s *Store) CountSandboxes(ctx context.Context) (int64, error) {
	return s.count(ctx, "SELECT count(*) FROM workspaces WHERE expires_at IS NOT NULL")
}

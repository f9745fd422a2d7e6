package store

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// The pets, orders and events of a sandbox have in their column workspace the id of its
// shop, which is the id of no workspace. A reset gives the sandbox another shop, in one
// transaction whose cost does not depend on the old rows. The rows of the old shop are
// then removed like those of a deleted workspace.

var _ access.Sandboxes = (*Store)(nil)

// expireAtOnce is how many sandboxes one transaction ends.
const expireAtOnce = 200

// CreateSandbox implements [access.Sandboxes].
func (s *Store) CreateSandbox(ctx context.Context, n access.NewSandbox) (access.Workspace, error) {
	w := n.Workspace
	w.CreatedAt, w.LowStock = instant(w.CreatedAt.UnixMilli()), access.DefaultLowStock
	err := s.db.Change(ctx, func(tx Tx) (err error) {
		if err := s.roomForSandbox(tx, &n); err != nil {
			return err
		}
		if w.ID, err = insertWorkspace(tx, w, n.From); err != nil {
			return err
		}
		for _, k := range n.Keys {
			k.WorkspaceID = w.ID
			if err := saveKey(tx, k); err != nil {
				return err
			}
		}
		w.Shop, err = s.fillShop(tx, w.ID, n.Rows)
		return err
	})
	return w, err
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

// fillShop gives a sandbox a new shop that has the rows.
func (s *Store) fillShop(tx Tx, workspace int64, rows []petstore.Unit) (shop int64, err error) {
	if shop, err = number(tx, s.options.Dialect.NextWorkspace); err != nil {
		return 0, err
	}
	if err := s.openShop(tx, shop); err != nil {
		return 0, err
	}
	if err := exec(tx, "UPDATE workspaces SET shop = $1 WHERE id = $2", shop, workspace); err != nil {
		return 0, err
	}
	return shop, (&Load{store: s, workspace: shop, batch: &petstore.Batch{Units: rows}}).Run(tx)
}

// lockShop locks the row of a workspace, so that its shop stays the same until the
// transaction ends, and returns the workspace.
func lockShop(tx Tx, workspace int64) (access.Workspace, error) {
	if err := exec(tx, "UPDATE workspaces SET shop = shop WHERE id = $1", workspace); err != nil {
		return access.Workspace{}, err
	}
	return workspaceByID(tx, workspace)
}

// renewShop resets a sandbox and returns the shop that it had.
func (s *Store) renewShop(tx Tx, workspace int64, rows []petstore.Unit) (before int64, err error) {
	w, err := lockShop(tx, workspace)
	if err != nil {
		return 0, err
	}
	if w.Sandbox == nil {
		return 0, petstore.Errorf(access.CodeNotASandbox, "This workspace is no sandbox. Only a sandbox can be reset by its keys.")
	}
	if err := s.closeShop(tx, w.Shop); err != nil {
		return 0, err
	}
	_, err = s.fillShop(tx, w.ID, rows)
	return w.Shop, err
}

// ResetSandbox implements [access.Sandboxes].
func (s *Store) ResetSandbox(ctx context.Context, workspace int64, rows []petstore.Unit) (before int64, err error) {
	err = s.db.Write(ctx, func(tx Tx) (err error) {
		before, err = s.renewShop(tx, workspace, rows)
		return err
	})
	if err != nil {
		return 0, err
	}
	s.options.Written(before) // its readers see that it has ended
	return before, nil
}

// RemoveShop implements [access.Sandboxes].
func (s *Store) RemoveShop(ctx context.Context, shop int64) error { return s.remove(ctx, shop) }

// EndSandboxes implements [access.Sandboxes].
func (s *Store) EndSandboxes(ctx context.Context) (shops []int64, err error) {
	now := s.now().UnixMilli()
	some, err := read(ctx, s, func(tx Tx) (bool, error) {
		return exists(tx, "SELECT 1 FROM workspaces WHERE expires_at <= $1 LIMIT 1", now)
	})
	if err != nil || !some {
		return nil, err
	}
	err = s.db.Change(ctx, func(tx Tx) error {
		shops = nil
		if err := exec(tx, "UPDATE workspaces SET shop = shop WHERE expires_at <= $1", now); err != nil { // none is reset meanwhile
			return err
		}
		due, err := workspaces(tx, "expires_at <= $1 ORDER BY expires_at LIMIT $2", now, expireAtOnce)
		for i := range due {
			var gone []int64
			if err == nil {
				gone, err = s.removeWorkspace(tx, &due[i])
				shops = append(shops, gone...)
			}
		}
		return err
	})
	return shops, err
}

// MostContents implements [access.Sandboxes].
func (s *Store) MostContents(ctx context.Context, shop, some int64) (access.Contents, error) {
	const most = "CASE WHEN c.%[1]s < $1 THEN c.%[1]s ELSE (SELECT count(*) FROM %[1]s t WHERE t.workspace = $2) END"
	return read(ctx, s, func(tx Tx) (access.Contents, error) {
		return rowOf(tx, NoWorkspace(shop), scanContents, "SELECT "+fmt.Sprintf(most, "categories")+", "+fmt.Sprintf(most, "pets")+", "+fmt.Sprintf(most, "orders")+" FROM counters c WHERE c.workspace = $2", some, shop)
	})
}

// CountSandboxes implements [access.Sandboxes].
func (s *Store) CountSandboxes(ctx context.Context) (int64, error) {
	return s.count(ctx, "SELECT count(*) FROM workspaces WHERE expires_at IS NOT NULL")
}

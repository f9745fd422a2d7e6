package store

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/petstore"
)

// forgetAtOnce bounds a call of Forget, so that it does not hold up writers.
const forgetAtOnce = 2000

// skipReceipts is how far ahead a receipt may be dated without being dated anew:
// nodes differ by the time between two calls of Forget.
const skipReceipts = time.Hour

// A lifetime is the clock that receipts are dated by. It goes while a server of the
// database runs and stands still between two runs, so that no clock that is set, or
// wrong when a machine starts, makes a receipt older or younger than it is. The
// database has it in the table meta, as "lived"; what a crash loses of it only keeps
// receipts longer.
type lifetime struct {
	elapsed func() time.Duration // of this process
	begin   atomic.Int64         // in milliseconds: the lifetime when elapsed was 0
}

func (l *lifetime) now() int64 { return l.begin.Load() + l.elapsed().Milliseconds() }

// join goes on from what another run, or another node, has reached.
func (l *lifetime) join(reached int64) {
	for {
		begin := l.begin.Load()
		later := reached - l.elapsed().Milliseconds()
		if later <= begin || l.begin.CompareAndSwap(begin, later) {
			return
		}
	}
}

// Lived returns the instant by which receipts are dated and grow old.
func (s *Store) Lived() petstore.Time { return petstore.Time{Millis: s.lived.now(), Valid: true} }

// Begin goes on from the lifetime that the database has. A database without one has
// lived up to its newest receipt that is not of the future.
func (s *Store) Begin(tx Tx) error {
	reached, err := livedOf(tx)
	if err != nil {
		return err
	}
	if reached == 0 {
		now := s.now().UnixMilli()
		_, err = one(tx, "SELECT coalesce(max(created_at), $1) FROM receipts WHERE created_at <= $1", func(row Row) error { return row.Scan(&reached) }, now)
	}
	s.lived.join(reached)
	return err
}

// livedOf returns the lifetime that the database has, or 0.
func livedOf(tx Tx) (reached int64, err error) {
	_, err = one(tx, "SELECT value FROM meta WHERE name = 'lived'", func(row Row) error {
		var value []byte
		if err := row.Scan(&value); err != nil {
			return err
		}
		reached, err = strconv.ParseInt(string(value), 10, 64)
		return err
	})
	return reached, err
}

const (
	selectReceipt = "SELECT fingerprint, created_at, row_id, body FROM receipts WHERE workspace = $1 AND operation = $2 AND key = $3"
	removeReceipt = "DELETE FROM receipts WHERE workspace = $1 AND operation = $2 AND key = $3 AND created_at = $4"
	insertReceipt = "INSERT INTO receipts (workspace, operation, key, fingerprint, row_id, body, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)"
)

// A receiptID is the key of a receipt.
type receiptID struct {
	workspace      int64
	operation, key string
}

func idOf(c *petstore.Change) receiptID {
	return receiptID{c.Workspace, c.Idempotency.Operation, c.Idempotency.Key}
}

func (r receiptID) compare(s receiptID) int {
	return cmp.Or(cmp.Compare(r.workspace, s.workspace), cmp.Compare(r.operation, s.operation), cmp.Compare(r.key, s.key))
}

// A storedReceipt is a row of receipts.
type storedReceipt struct {
	petstore.Receipt
	fingerprint [32]byte
	created     petstore.Time
}

func scanReceipt(row Row, r *storedReceipt) error {
	var fingerprint []byte
	r.created.Valid = true
	err := row.Scan(&fingerprint, &r.created.Millis, &r.ID, &r.Body)
	copy(r.fingerprint[:], fingerprint)
	return err
}

// keepReceipt adds the statements that keep an answer, in place of one that is out of date.
func keepReceipt(b *Batch, id receiptID, old *storedReceipt, kept *storedReceipt) {
	if old != nil {
		b.Exec(removeReceipt, id.workspace, id.operation, id.key, old.created.Millis)
	}
	body := kept.Body
	if body == nil {
		body = []byte{} // nil would be NULL
	}
	b.Exec(insertReceipt, id.workspace, id.operation, id.key, kept.fingerprint[:], kept.ID, body, kept.created.Millis)
}

// once has do carried out, unless it was done before under the same key of idempotency: then it
// returns the answer of that time. Without a key it is carried out.
func once(tx Tx, workspace int64, i *petstore.Idempotency, now petstore.Time, do func() (petstore.Receipt, error)) (before *petstore.Receipt, err error) {
	if i == nil {
		_, err := do()
		return nil, err
	}
	id, old := receiptID{workspace, i.Operation, i.Key}, new(storedReceipt)
	found, err := one(tx, selectReceipt, func(row Row) error { return scanReceipt(row, old) }, id.workspace, id.operation, id.key)
	if err != nil {
		return nil, err
	}
	if !found {
		old = nil
	} else if again, err := i.Replay(old.fingerprint, old.created, now); err != nil {
		return nil, err
	} else if again {
		return &old.Receipt, nil
	}
	answer, err := do()
	if err != nil {
		return nil, err
	}
	var b Batch
	keepReceipt(&b, id, old, &storedReceipt{answer, i.Fingerprint, now})
	return nil, tx.Run(&b)
}

// loadReceipt adds the statement that loads a receipt.
func (g *Group) loadReceipt(b *Batch, id receiptID) {
	b.Query(func(row Row) error {
		r := new(storedReceipt)
		g.receipts[id] = r
		return scanReceipt(row, r)
	}, selectReceipt, id.workspace, id.operation, id.key)
}

// keepReceipts adds the statements that write the receipts of the changes that leave one,
// in the order of their keys: other nodes may be writing the same. One that was out of
// date when it was loaded makes way. If another node has written one meanwhile, the insert
// fails, and the change is decided anew.
func (g *Group) keepReceipts(b *Batch) {
	var kept []*groupedChange
	g.each(func(m *groupedChange) {
		if m.receipt != nil {
			kept = append(kept, m)
		}
	})
	slices.SortFunc(kept, func(a, b *groupedChange) int { return idOf(a.Job.Change).compare(idOf(b.Job.Change)) })
	for _, m := range kept {
		id := idOf(m.Job.Change)
		keepReceipt(b, id, g.receipts[id], &storedReceipt{*m.receipt, m.Job.Idempotency.Fingerprint, g.lived})
	}
}

// Forget implements [petstore.Store]. It removes old windows, too.
func (s *Store) Forget(ctx context.Context) (changed int, err error) {
	err = s.db.Step(ctx, func(tx Tx) error {
		changed = 0
		if err := s.forgetWindows(tx); err != nil {
			return err
		}
		now, err := s.keepLived(tx)
		if err != nil {
			return err
		}
		dated, err := tx.Exec(`UPDATE receipts SET created_at = $1 WHERE (workspace, operation, key) IN
			(SELECT workspace, operation, key FROM receipts WHERE created_at > $2 LIMIT $3)`, now, now+skipReceipts.Milliseconds(), int64(forgetAtOnce))
		if err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM receipts WHERE (workspace, operation, key) IN
			(SELECT workspace, operation, key FROM receipts WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
			now-petstore.KeepReceipts.Milliseconds(), int64(forgetAtOnce))
		changed = int(dated + n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// keepLived brings this process and the database to the later lifetime of both, and
// returns it. Without receipts nothing grows old, and nothing is written.
func (s *Store) keepLived(tx Tx) (int64, error) {
	reached, err := livedOf(tx)
	if err != nil {
		return 0, err
	}
	s.lived.join(reached)
	now := s.lived.now()
	some, err := one(tx, "SELECT 1 FROM receipts WHERE created_at > $1 LIMIT 1", func(Row) error { return nil }, int64(0))
	if err != nil || !some || now <= reached {
		return now, err
	}
	return now, exec(tx, "INSERT INTO meta (name, value) VALUES ('lived', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		[]byte(strconv.FormatInt(now, 10)))
}

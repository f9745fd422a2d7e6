package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// A delivery gets its row when the webhook's column reached moves past its event. It is due at
// next_at, which is NULL once it has ended. While the webhook is not active the delivery waits,
// and its next_at is not returned.

const selectDeliveries = "SELECT event, type, state, tries, tried_at, status, answer, error, latency," +
	" CASE WHEN EXISTS (SELECT 1 FROM webhooks w WHERE w.id = webhook AND w.state = 'active') THEN next_at END, earlier FROM deliveries WHERE "

func scanDelivery(row Row, d *webhook.Delivery) error {
	var earlier string
	err := scan(row, &d.ID, (*string)(&d.Type), (*string)(&d.State), &d.Tries, &d.TriedAt, &d.Status, &d.Text, &d.Error, &d.Latency, &d.NextAt, &earlier)
	if err != nil || earlier == "" {
		return err
	}
	return json.Unmarshal([]byte(earlier), &d.Earlier)
}

// Deliveries implements [webhook.Store].
func (s *Store) Deliveries(ctx context.Context, workspace int64, id string, before int64, limit int) ([]webhook.Delivery, error) {
	return read(ctx, s, func(tx Tx) ([]webhook.Delivery, error) {
		if _, err := oneWebhook(tx, workspace, id); err != nil {
			return nil, err
		}
		return RowsOf(tx, scanDelivery, selectDeliveries+"webhook = $1 AND event < $2 ORDER BY event DESC LIMIT $3", id, cmp.Or(before, math.MaxInt64), max(limit, 0))
	})
}

// retry makes the deliveries of a webhook due that a condition selects.
const retry = "UPDATE deliveries SET state = 'pending', tries = 0, next_at = $1 WHERE webhook = $2 AND "

// RetryDelivery implements [webhook.Store].
func (s *Store) RetryDelivery(ctx context.Context, workspace int64, id string, delivery int64, at time.Time) (webhook.Delivery, error) {
	return result(ctx, s.db.Write, func(tx Tx) (d webhook.Delivery, err error) {
		if _, err := oneWebhook(tx, workspace, id); err != nil {
			return d, err
		}
		if err := exec(tx, retry+"event = $3", at.UnixMilli(), id, delivery); err != nil {
			return d, err
		}
		return rowOf(tx, webhook.NoDelivery(delivery), scanDelivery, selectDeliveries+"webhook = $1 AND event = $2", id, delivery)
	})
}

// RetryFailed implements [webhook.Store].
func (s *Store) RetryFailed(ctx context.Context, workspace int64, id string, at time.Time) (int64, error) {
	return result(ctx, s.db.Write, func(tx Tx) (int64, error) {
		if _, err := oneWebhook(tx, workspace, id); err != nil {
			return 0, err
		}
		return tx.Exec(retry+"(state = 'failed' OR state = 'pending' AND tries > 0)", at.UnixMilli(), id)
	})
}

// HoldWebhooks implements [webhook.Store].
func (s *Store) HoldWebhooks(ctx context.Context, l webhook.Lease) ([]webhook.Webhook, error) {
	now, until, long := l.Now.UnixMilli(), l.Until.UnixMilli(), l.Until.Sub(l.Now).Milliseconds()
	renew := l.Now.Add(l.Until.Sub(l.Now) * 2 / 3).UnixMilli()
	some, err := read(ctx, s, func(tx Tx) (bool, error) {
		return exists(tx, `SELECT 1 FROM webhooks
			WHERE state = 'active' AND (holder = $1 AND (held_until < $2 OR held_until > $3) OR holder <> $1 AND held_until < $4) LIMIT 1`, l.Node, renew, until, now)
	})
	if err == nil && some {
		err = s.db.Write(ctx, func(tx Tx) error {
			return exec(tx, `UPDATE webhooks SET holder = $1, held_until = $2, failing_for = failing_for + CASE
					WHEN failing_since IS NULL OR holder <> $1 OR held_until > $2 THEN 0
					WHEN held_until < $3 THEN CAST($4 AS bigint)
					ELSE $2 - held_until END
				WHERE state = 'active' AND (holder = $1 AND (held_until < $5 OR held_until > $2) OR holder <> $1 AND held_until < $3)`, l.Node, until, now, long, renew)
		})
	}
	if err != nil {
		return nil, err
	}
	return read(ctx, s, func(tx Tx) ([]webhook.Webhook, error) {
		return webhooks(tx, "holder = $1 AND state = 'active'", l.Node)
	})
}

// ReleaseWebhooks implements [webhook.Store].
func (s *Store) ReleaseWebhooks(ctx context.Context, node string) error {
	return s.db.Write(ctx, func(tx Tx) error {
		return exec(tx, "UPDATE webhooks SET holder = '', held_until = 0 WHERE holder = $1", node)
	})
}

// QueueDeliveries implements [webhook.Store].
func (s *Store) QueueDeliveries(ctx context.Context, id, node string, at time.Time, limit int) (queued bool, err error) {
	var w webhook.Webhook
	var through int64
	err = s.db.Read(ctx, func(tx Tx) error {
		held, err := webhooks(tx, "id = $1 AND holder = $2", id, node)
		if err != nil || len(held) == 0 {
			return err
		}
		w = held[0]
		through, err = nextEvents(tx, &w, limit)
		return err
	})
	if err != nil || through == 0 {
		return false, err
	}
	return result(ctx, s.db.Write, func(tx Tx) (bool, error) {
		n, err := tx.Exec("UPDATE webhooks SET reached = $1 WHERE id = $2 AND holder = $3 AND reached = $4 AND workspace = $5", through, id, node, w.After, w.Workspace)
		if err != nil || n == 0 {
			return false, err
		}
		return true, queueEvents(tx, &w, through, at)
	})
}

// nextEvents returns the id of the last of the next events, or 0 if they are not worth a
// transaction: a few events of types that the webhook does not take can wait.
func nextEvents(tx Tx, w *webhook.Webhook, limit int) (through int64, err error) {
	var n, taken int
	var last int64
	err = Each(tx, "SELECT id, type FROM events WHERE workspace = $1 AND id > $2 ORDER BY id LIMIT $3", func(row Row) error {
		var what string
		err := row.Scan(&last, &what)
		if n++; w.Takes(petstore.EventType(what)) {
			taken++
		}
		return err
	}, w.Workspace, w.After, int64(limit))
	if taken == 0 && n < limit {
		return 0, err
	}
	return last, err
}

func queueEvents(tx Tx, w *webhook.Webhook, through int64, at time.Time) error {
	query := `INSERT INTO deliveries (webhook, event, workspace, type, state, tries, next_at, status, answer, error, latency)
		SELECT CAST($1 AS text), id, workspace, type, 'pending', 0, CAST($2 AS bigint), 0, '', '', 0
		FROM events WHERE workspace = $3 AND id > $4 AND id <= $5`
	args := []any{w.ID, at.UnixMilli(), w.Workspace, w.After, through}
	if len(w.Types) > 0 {
		query += " AND $6 LIKE '%,' || type || ',%'"
		args = append(args, typeList(w.Types)+typeList([]petstore.EventType{petstore.WorkspaceReset}))
	}
	return exec(tx, query+" ON CONFLICT (webhook, event) DO UPDATE SET state = 'pending', tries = 0, next_at = excluded.next_at", args...)
}

// DueDeliveries implements [webhook.Store].
func (s *Store) DueDeliveries(ctx context.Context, id, node string, at time.Time, limit int) (due []webhook.DueDelivery, next time.Time, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		due, err = RowsOf(tx, scanDue, `SELECT d.tries, d.next_at, d.event, d.type, coalesce(e.at, 0), coalesce(e.request, ''), coalesce(e.data, ''), coalesce(e.previous, '')
			FROM deliveries d LEFT JOIN events e ON e.workspace = d.workspace AND e.id = d.event
			WHERE d.webhook = $1 AND d.next_at <= $2 AND EXISTS (SELECT 1 FROM webhooks w WHERE w.id = $1 AND w.holder = $3 AND w.workspace = d.workspace)
			ORDER BY d.next_at, d.event LIMIT $4`, id, at.UnixMilli(), node, limit)
		if err != nil {
			return err
		}
		first, err := number(tx, "SELECT next_at FROM deliveries WHERE webhook = $1 AND next_at > $2 ORDER BY next_at LIMIT 1", id, at.UnixMilli())
		next = instant(first)
		return err
	})
	return due, next, err
}

func scanDue(row Row, d *webhook.DueDelivery) error {
	e := &d.Event
	e.CreatedAt.Valid = true
	err := scan(row, &d.Tries, &d.DueAt, &e.ID, (*string)(&e.Type), &e.CreatedAt.Millis, &e.RequestID, &e.Data, &e.Previous)
	if len(e.Data) == 0 {
		e.Data = nil
	}
	return err
}

// RecordOutcomes implements [webhook.Store].
func (s *Store) RecordOutcomes(ctx context.Context, outcomes []webhook.Outcome) error {
	return s.db.Write(ctx, func(tx Tx) error {
		for i := range outcomes {
			if err := s.recordOutcome(tx, &outcomes[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// saveOutcome stores an outcome, and adds the try before it, if there was one, to the earlier
// ones. It changes nothing if the delivery was made due again meanwhile.
func saveOutcome(tx Tx, o *webhook.Outcome) error {
	var before webhook.Delivery
	found, err := First(tx, selectDeliveries+"webhook = $1 AND event = $2",
		func(row Row) error { return scanDelivery(row, &before) }, o.Webhook, o.Event)
	if err != nil || !found {
		return err
	}
	earlier := []byte{}
	if !before.TriedAt.IsZero() {
		if earlier, err = json.Marshal(before.Attempts()); err != nil {
			return err
		}
	}
	a := &o.Answer
	return exec(tx, `UPDATE deliveries SET state = $1, tries = $2, tried_at = $3, status = $4, answer = $5, error = $6, latency = $7, next_at = $8, earlier = $9
		WHERE webhook = $10 AND event = $11 AND next_at = $12`, string(o.State), int64(o.Tries), o.At.UnixMilli(), int64(a.Status), a.Text, a.Error, a.Latency.Milliseconds(),
		millis(o.Next), string(earlier), o.Webhook, o.Event, o.DueAt.UnixMilli())
}

func (s *Store) recordOutcome(tx Tx, o *webhook.Outcome) error {
	err := saveOutcome(tx, o)
	switch {
	case err != nil:
		return err
	case o.State == webhook.Delivered:
		return exec(tx, "UPDATE webhooks SET failing_since = NULL, failing_for = 0, failure = '' WHERE id = $1 AND failing_since IS NOT NULL", o.Webhook)
	case o.DisableReason == "":
		return nil
	}
	if err := exec(tx, "UPDATE webhooks SET failure = $1, failing_since = CASE WHEN failing_since < $2 THEN failing_since ELSE CAST($2 AS bigint) END WHERE id = $3",
		o.Answer.String(), o.At.UnixMilli(), o.Webhook); err != nil {
		return err
	}
	n, err := tx.Exec("UPDATE webhooks SET state = 'disabled' WHERE id = $1 AND state = 'active' AND failing_for >= $2", o.Webhook, o.DisableAfter.Milliseconds())
	if err != nil || n == 0 {
		return err
	}
	w, err := rowOf(tx, nil, scanWebhook, selectWebhooks+"id = $1", o.Webhook)
	if err != nil {
		return err
	}
	return s.auditWebhook(tx, &w, "webhooks", "webhook.disable", ": "+o.DisableReason)
}

// selectEnded selects the webhook after $2 that has deliveries, and whether it was not
// deleted; and of its deliveries that have ended when the first of them was tried, and the
// latest but $1, each 0 if there is none. For an EXISTS, PostgreSQL would read all webhooks.
const selectEnded = `SELECT d.webhook, (SELECT count(*) FROM webhooks w WHERE w.id = d.webhook) > 0,
		coalesce((SELECT tried_at FROM deliveries e WHERE e.webhook = d.webhook AND next_at IS NULL ORDER BY tried_at LIMIT 1), 0),
		coalesce((SELECT tried_at FROM deliveries e WHERE e.webhook = d.webhook AND next_at IS NULL ORDER BY tried_at DESC LIMIT 1 OFFSET $1), 0)
	FROM deliveries d WHERE d.webhook > $2 ORDER BY d.webhook LIMIT 1`

// PruneDeliveries implements [webhook.Store].
func (s *Store) PruneDeliveries(ctx context.Context, before time.Time, keep int) error {
	for id := ""; ; {
		var next string
		var kept bool
		var first, oldest int64 // the first that has ended, and the oldest that stays
		err := s.db.Read(ctx, func(tx Tx) error {
			_, err := First(tx, selectEnded, func(row Row) error { return row.Scan(&next, &kept, &first, &oldest) }, keep-1, id)
			return err
		})
		if err != nil || next == "" {
			return err
		}
		where, args := "webhook = $1", []any{next}
		if kept {
			oldest = max(oldest, before.UnixMilli())
			where, args = where+" AND next_at IS NULL AND tried_at < $2", append(args, oldest)
		}
		if !kept || 0 < first && first < oldest {
			_, err = s.steps(ctx, DeleteSome("deliveries", "webhook, event", fmt.Sprintf("%s LIMIT %d", where, stepRows)), args...)
		}
		if err != nil {
			return err
		}
		id = next
	}
}

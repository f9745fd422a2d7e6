package store

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

const selectWebhooks = `SELECT id, workspace, url, types, description, state, created_at, reached, failing_since, failure,
	secret, old_secret, old_until FROM webhooks WHERE `

func scanWebhook(row Row, w *webhook.Webhook) error {
	var types string
	err := scan(row, &w.ID, &w.Workspace, &w.URL, &types, &w.Description, (*string)(&w.State), &w.CreatedAt, &w.After, &w.FailingSince, &w.Failure,
		&w.Secret, &w.OldSecret, &w.OldUntil)
	for name := range strings.FieldsFuncSeq(types, func(r rune) bool { return r == ',' }) {
		w.Types = append(w.Types, petstore.EventType(name))
	}
	return err
}

// webhooks returns the webhooks that a condition selects.
func webhooks(tx Tx, where string, args ...any) ([]webhook.Webhook, error) {
	return RowsOf(tx, scanWebhook, selectWebhooks+where+" ORDER BY created_at, id", args...)
}

// oneWebhook returns a webhook of the workspace, or CodeWebhookNotFound.
func oneWebhook(tx Tx, workspace int64, id string) (webhook.Webhook, error) {
	return rowOf(tx, webhook.NoWebhook(id), scanWebhook, selectWebhooks+"id = $1 AND workspace = $2", id, workspace)
}

// lockWebhook is oneWebhook for one that does not change until the transaction ends.
func lockWebhook(tx Tx, workspace int64, id string) (webhook.Webhook, error) {
	if err := exec(tx, "UPDATE webhooks SET holder = holder WHERE id = $1 AND workspace = $2", id, workspace); err != nil {
		return webhook.Webhook{}, err
	}
	return oneWebhook(tx, workspace, id)
}

// Webhooks implements [webhook.Store].
func (s *Store) Webhooks(ctx context.Context, workspace int64) ([]webhook.Webhook, error) {
	return read(ctx, s, func(tx Tx) ([]webhook.Webhook, error) { return webhooks(tx, "workspace = $1", workspace) })
}

// Webhook implements [webhook.Store].
func (s *Store) Webhook(ctx context.Context, workspace int64, id string) (webhook.Webhook, error) {
	return read(ctx, s, func(tx Tx) (webhook.Webhook, error) { return oneWebhook(tx, workspace, id) })
}

// ChangeWebhook implements [webhook.Store].
func (s *Store) ChangeWebhook(ctx context.Context, c webhook.Change) (webhook.Changed, error) {
	return result(ctx, s.db.Change, func(tx Tx) (done webhook.Changed, err error) {
		if err := CheckShop(tx, c.Workspace, s.dialect.Lock); err != nil {
			return done, err
		}
		body, replayed, err := once(tx, c.Workspace, c.Once, petstore.At(s.now()), func() (_ []byte, err error) {
			if done.Webhook, err = editWebhook(tx, c); err != nil {
				return nil, err
			}
			return done.Webhook.WithSecret(), s.auditWebhook(tx, &done.Webhook, c.By, c.Action, "")
		})
		if err == nil && replayed {
			done.Replayed = true
			done.Webhook, err = webhook.ParseWithSecret(body)
		}
		return done, err
	})
}

// auditWebhook adds an entry about a webhook to the audit log, without the parts of its URL
// that may be secret.
func (s *Store) auditWebhook(tx Tx, w *webhook.Webhook, by, action, reason string) error {
	host := "?"
	if u, err := url.Parse(w.URL); err == nil {
		host = u.Host
	}
	owner, err := number(tx, selectOwner, w.Workspace)
	if err != nil {
		return err
	}
	return s.audit(tx, owner, access.Actor(by), action, w.ID, fmt.Sprintf("to %s for workspace %d, %s%s", host, owner, w.State, reason))
}

func editWebhook(tx Tx, c webhook.Change) (w webhook.Webhook, err error) {
	if c.ID != "" {
		w, err = lockWebhook(tx, c.Workspace, c.ID)
	} else {
		err = roomForWebhook(tx, c.Workspace)
	}
	if err != nil {
		return w, err
	}
	f, err := feedOf(tx, c.Workspace)
	if err == nil {
		err = c.Edit(&w, f)
	}
	if err != nil {
		return w, err
	}
	return w, saveWebhook(tx, &w)
}

func roomForWebhook(tx Tx, workspace int64) error {
	n, err := number(tx, "SELECT count(*) FROM webhooks WHERE workspace = $1", workspace)
	if err == nil && n >= webhook.MaxWebhooks {
		err = petstore.Errorf(webhook.CodeTooManyWebhooks, "The workspace has %d webhooks, and can have no more. Delete one first.", webhook.MaxWebhooks)
	}
	return err
}

func feedOf(tx Tx, workspace int64) (webhook.Feed, error) {
	return rowOf(tx, petstore.FeedEnded(), func(row Row, f *webhook.Feed) error { return row.Scan(&f.Last, &f.Forgotten) },
		"SELECT CASE WHEN events > forgotten THEN events ELSE forgotten END, forgotten FROM counters WHERE workspace = $1", workspace)
}

func saveWebhook(tx Tx, w *webhook.Webhook) error {
	return exec(tx, `INSERT INTO webhooks (id, workspace, url, types, description, state, created_at, reached, failing_since, secret, old_secret, old_until, holder, held_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '', 0)
		ON CONFLICT (id) DO UPDATE SET url = excluded.url, types = excluded.types, description = excluded.description, state = excluded.state,
			reached = excluded.reached, failing_since = excluded.failing_since,
			failing_for = CASE WHEN excluded.failing_since IS NULL THEN 0 ELSE webhooks.failing_for END,
			failure = CASE WHEN excluded.failing_since IS NULL THEN '' ELSE webhooks.failure END,
			secret = excluded.secret, old_secret = excluded.old_secret, old_until = excluded.old_until`,
		w.ID, w.Workspace, w.URL, typeList(w.Types), w.Description, string(w.State), w.CreatedAt.UnixMilli(), w.After, millis(w.FailingSince),
		w.Secret, w.OldSecret, millis(w.OldUntil))
}

// DeleteWebhook implements [webhook.Store].
func (s *Store) DeleteWebhook(ctx context.Context, workspace int64, id, by string, may func(webhook.Webhook) error) error {
	return s.db.Change(ctx, func(tx Tx) error {
		w, err := lockWebhook(tx, workspace, id)
		if err == nil {
			err = may(w)
		}
		if err != nil {
			return err
		}
		if err := exec(tx, "DELETE FROM webhooks WHERE id = $1", id); err != nil {
			return err
		}
		return s.auditWebhook(tx, &w, by, "webhook.delete", "")
	})
}

// Package sandbox creates workspaces for visitors: they start in a known state, can be
// reset to it, and expire. It also parses the faults that requests ask for. Package httpapi answers the requests.
package sandbox

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

// CodeQuotaExceeded is the code of the error for a row beyond MaxRows.
const CodeQuotaExceeded petstore.Code = "sandbox_quota_exceeded"

// MaxRows is how many pets a sandbox may have, and how many orders and categories.
const MaxRows = 5000

// Options configure a Service.
type Options struct {
	Store access.Store
	Now   func() time.Time
	Log   *slog.Logger

	Most       int           // sandboxes at once; 0 means no limit
	PerAddress int           // sandboxes that an address may create in an hour; 0 means no limit
	Plan       access.Plan   // of each sandbox
	Quota      access.Quota  // of the plan
	Life       time.Duration // how long a sandbox lasts
	Webhooks   bool          // whether keys get the scope manage
}

// A Service creates and resets sandboxes. Its methods may be called concurrently.
type Service struct {
	Options
	Simulator Simulator

	filling chan struct{} // holds a token while a shop is filled: other writes wait for one such transaction at most

	mu      sync.Mutex
	pending map[rowKey]int64 // rows that are being created now, on this node
}

// maxRemovals is how many shops may wait for Store.Resume to remove their rows. If there are more,
// Reset removes the former rows itself, so that resets in a loop cannot fill the disk.
const maxRemovals = 64

// New returns a service.
func New(o Options) *Service {
	return &Service{
		Options: o, Simulator: Simulator{now: o.Now, seen: make(map[int64][]series)}, filling: make(chan struct{}, 1), pending: make(map[rowKey]int64),
	}
}

// A Created is a new sandbox with its keys. Their secrets are not stored.
type Created struct {
	access.Workspace
	Keys    []access.Key
	Secrets []string // of Keys, in the same order
}

// Scopes returns the scopes of a visitor's key.
func (s *Service) Scopes() access.Scopes {
	if s.Webhooks {
		return access.Read | access.Write | access.Manage
	}
	return access.Read | access.Write
}

// fill calls f, which fills a shop. On each node one shop is filled at a time.
func (s *Service) fill(ctx context.Context, f func() error) error {
	select {
	case s.filling <- struct{}{}:
		defer func() { <-s.filling }()
		return f()
	case <-ctx.Done():
		return petstore.Errorf(petstore.CodeServiceUnavailable, "The server is busy. Try again shortly.")
	}
}

// Create creates a sandbox with the rows of a catalogue, and a key for each of scopes,
// for a client at an address. It returns the errors of [access.Sandboxes].
func (s *Service) Create(ctx context.Context, from netip.Addr, catalogue string, scopes ...access.Scopes) (Created, error) {
	rows, err := Catalogue(catalogue)
	if err != nil {
		return Created{}, err
	}
	var made Created
	now := s.Now()
	end := now.Add(s.Life).UTC().Truncate(time.Second)
	for _, one := range scopes {
		secret, prefix := access.Mint()
		made.Secrets = append(made.Secrets, secret)
		made.Keys = append(made.Keys, access.Key{
			ID: access.MintID(), Name: "sandbox", Prefix: prefix, Hash: access.HashOf(secret), Scopes: one, CreatedAt: now, ExpiresAt: end,
		})
	}
	err = s.fill(ctx, func() (err error) {
		made.Workspace, err = s.Store.CreateSandbox(ctx, access.NewSandbox{
			Workspace: access.Workspace{
				Name: "sandbox-" + strings.ToLower(strings.TrimPrefix(access.MintID(), "key_")), Plan: s.Plan, Quota: s.Quota,
				CreatedAt: now, Sandbox: &access.Sandbox{ExpiresAt: end, Catalogue: catalogue},
			},
			Keys: made.Keys, From: fairshare.HolderAt(from).Address.String(), Rows: rows, Most: s.Most, PerAddress: s.PerAddress,
		})
		return err
	})
	if err != nil {
		return Created{}, err
	}
	s.Log.Info("a sandbox was created", "audit", "sandbox.create", "workspace", made.ID, "address", from.String())
	return made, nil
}

// Reset replaces the contents of a sandbox with those of a catalogue; "" means the
// catalogue that it was created with. It returns CodeNotASandbox for any other workspace.
func (s *Service) Reset(ctx context.Context, w *access.Workspace, catalogue string) error {
	var rows []petstore.Unit
	if w.Sandbox != nil { // otherwise the store returns the error
		var err error
		if rows, err = Catalogue(cmp.Or(catalogue, w.Sandbox.Catalogue)); err != nil {
			return err
		}
	}
	var before int64
	err := s.fill(ctx, func() (err error) {
		before, err = s.Store.ResetSandbox(ctx, w.ID, rows)
		return err
	})
	if err == nil {
		_ = s.Store.RemoveBeyond(ctx, maxRemovals, before) // Store.Resume removes what this leaves
	}
	return err
}

var errQuota = petstore.Errorf(CodeQuotaExceeded, "A sandbox can have %d pets, orders and categories each. Delete some, or reset it by POST /account/reset.", MaxRows)

// CheckQuota returns CodeQuotaExceeded if a sandbox would have too many rows with more.
func (s *Service) CheckQuota(ctx context.Context, w *access.Workspace, more access.Contents) error {
	has, err := s.Store.Contents(ctx, w.Shop, MaxRows/2)
	if err == nil && (more.Categories > 0 && has.Categories+more.Categories > MaxRows ||
		more.Pets > 0 && has.Pets+more.Pets > MaxRows || more.Orders > 0 && has.Orders+more.Orders > MaxRows) {
		err = errQuota
	}
	return err
}

// A rowKey identifies the rows of a kind in a shop.
type rowKey struct {
	shop int64
	kind petstore.RowKind
}

// RowLimit returns the [petstore.RowLimit] of a sandbox. It counts rows that are being
// created on this node as if they existed.
func (s *Service) RowLimit(w *access.Workspace) petstore.RowLimit {
	return func(ctx context.Context, kind petstore.RowKind) (release func(), full error) {
		of := rowKey{w.Shop, kind}
		n := s.addPending(of, 1)
		more := access.Contents{}
		switch kind {
		case petstore.CategoryRow:
			more.Categories = n
		case petstore.PetRow:
			more.Pets = n
		case petstore.OrderRow:
			more.Orders = n
		}
		return func() { s.addPending(of, -1) }, s.CheckQuota(ctx, w, more)
	}
}

// addPending adds to the number of rows that are being created, and returns it.
func (s *Service) addPending(of rowKey, more int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.pending[of] + more
	if s.pending[of] = n; n == 0 {
		delete(s.pending, of)
	}
	return n
}

// Package sandbox makes workspaces that anybody may have: they start in a known state, can
// be put back into it, and end by themselves. It also reads what a request asks to go
// wrong. It answers no requests: package httpapi does.
package sandbox

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

// CodeQuotaExceeded refuses a row of a sandbox that has as many as it may.
const CodeQuotaExceeded petstore.Code = "sandbox_quota_exceeded"

// MaxRows is how many pets, orders and categories a sandbox has, of each.
const MaxRows = 5000

// Options are what a Service is made of.
type Options struct {
	Store access.Store
	Now   func() time.Time
	Log   *slog.Logger

	Most       int           // sandboxes at once; 0 is no bound
	PerAddress int           // sandboxes that an address makes in an hour; 0 is no bound
	Plan       access.Plan   // of each
	Quota      access.Quota  // of the plan
	Life       time.Duration // of each
	Webhooks   bool          // keys get the scope manage
}

// A Service makes sandboxes and resets them. Its methods may be called concurrently.
type Service struct {
	Options
	Simulator Simulator

	turn chan struct{} // has who fills a shop: others' writes wait for one at most
	old  chan int64    // shops whose rows are to be removed

	mu   sync.Mutex
	made map[rows]int64 // that are being made

	stats struct{ created, refused, resets atomic.Int64 }
}

// mostOld is how many shops wait to be removed. Whoever resets faster removes one himself.
const mostOld = 64

// New returns a service.
func New(o Options) *Service {
	return &Service{
		Options: o, Simulator: Simulator{now: o.Now}, turn: make(chan struct{}, 1), old: make(chan int64, mostOld), made: make(map[rows]int64),
	}
}

// Stats are numbers since the start.
type Stats struct{ Created, Refused, Resets, Simulated int64 }

// Stats returns the numbers as they stand.
func (s *Service) Stats() Stats {
	return Stats{s.stats.created.Load(), s.stats.refused.Load(), s.stats.resets.Load(), s.Simulator.simulated.Load()}
}

// A Made is a sandbox with its keys, which nobody sees again.
type Made struct {
	access.Workspace
	Keys []access.Key
	// Secrets are those of Keys.
	Secrets []string
}

// Scopes returns those of the key of a visitor.
func (s *Service) Scopes() access.Scopes {
	if s.Webhooks {
		return access.Read | access.Write | access.Manage
	}
	return access.Read | access.Write
}

// inTurn has f fill a shop when nobody else on this node does, unless ctx ends before.
func (s *Service) inTurn(ctx context.Context, f func() error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return f()
	case <-ctx.Done():
		return petstore.Errorf(petstore.CodeServiceUnavailable, "The server is busy. Try again shortly.")
	}
}

// Create makes a sandbox that has a catalogue, with a key for each of the scopes, for
// somebody at an address. It returns the errors of [access.Sandboxes].
func (s *Service) Create(ctx context.Context, from netip.Addr, catalogue string, scopes ...access.Scopes) (Made, error) {
	rows, err := Catalogue(catalogue)
	if err != nil {
		return Made{}, err
	}
	var made Made
	now := s.Now()
	end := now.Add(s.Life).UTC().Truncate(time.Second)
	for _, one := range scopes {
		secret, prefix := access.Mint()
		made.Secrets = append(made.Secrets, secret)
		made.Keys = append(made.Keys, access.Key{
			ID: access.MintID(), Name: "sandbox", Prefix: prefix, Hash: access.HashOf(secret), Scopes: one, CreatedAt: now, ExpiresAt: end,
		})
	}
	err = s.inTurn(ctx, func() (err error) {
		made.Workspace, err = s.Store.CreateSandbox(ctx, access.NewSandbox{
			Workspace: access.Workspace{
				Name: "sandbox-" + strings.ToLower(strings.TrimPrefix(access.MintID(), "key_")), Plan: s.Plan, Quota: s.Quota,
				CreatedAt: now, Sandbox: &access.Sandbox{ExpiresAt: end, Catalogue: catalogue},
			},
			Keys: made.Keys, From: fairshare.HolderAt(from).Address.String(), Rows: rows, Most: s.Most, PerAddress: s.PerAddress,
		})
		return err
	})
	switch petstore.CodeOf(err) {
	case access.CodeSandboxesFull, access.CodeTooManySandboxes:
		s.stats.refused.Add(1)
	}
	if err != nil {
		return Made{}, err
	}
	s.stats.created.Add(1)
	s.Log.Info("a sandbox was created", "audit", "sandbox.create", "workspace", made.ID, "address", from.String())
	return made, nil
}

// Reset puts a sandbox into the state that a catalogue is, or "" for the one that it began
// with. It returns CodeNotASandbox for any other workspace.
func (s *Service) Reset(ctx context.Context, w *access.Workspace, catalogue string) error {
	var rows []petstore.Unit
	if w.Sandbox != nil { // else the store says so
		var err error
		if rows, err = Catalogue(cmp.Or(catalogue, w.Sandbox.Catalogue)); err != nil {
			return err
		}
	}
	var before int64
	if err := s.inTurn(ctx, func() (err error) {
		before, err = s.Store.ResetSandbox(ctx, w.ID, rows)
		return err
	}); err != nil {
		return err
	}
	s.stats.resets.Add(1)
	select {
	case s.old <- before:
	default:
		s.remove(ctx, before)
	}
	return nil
}

// Run removes the rows that resets leave, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case shop := <-s.old:
			s.remove(ctx, shop)
		}
	}
}

// remove removes the rows of a shop. What fails is tried again when removals are resumed.
func (s *Service) remove(ctx context.Context, shop int64) {
	if err := s.Store.RemoveShop(ctx, shop); err != nil && ctx.Err() == nil {
		s.Log.Warn("the rows that a reset left could not be removed", "err", err)
	}
}

var errQuota = petstore.Errorf(CodeQuotaExceeded, "A sandbox can have %d pets, orders and categories each. Delete some, or reset it by POST /account/reset.", MaxRows)

// Fits returns CodeQuotaExceeded if a sandbox has no room for more rows.
func (s *Service) Fits(ctx context.Context, w *access.Workspace, more access.Contents) error {
	has, err := s.Store.MostContents(ctx, w.Shop, MaxRows/2)
	if err == nil && (more.Categories > 0 && has.Categories+more.Categories > MaxRows ||
		more.Pets > 0 && has.Pets+more.Pets > MaxRows || more.Orders > 0 && has.Orders+more.Orders > MaxRows) {
		err = errQuota
	}
	return err
}

// rows are what is being made in a shop.
type rows struct {
	shop int64
	kind petstore.RowKind
}

// Room returns a [petstore.Room] for the rows of a sandbox. Those that are being made on
// this node count as if they were there.
func (s *Service) Room(w *access.Workspace) petstore.Room {
	return func(ctx context.Context, kind petstore.RowKind) (release func(), full error) {
		of := rows{w.Shop, kind}
		n := s.making(of, 1)
		more := access.Contents{}
		switch kind {
		case petstore.CategoryRow:
			more.Categories = n
		case petstore.PetRow:
			more.Pets = n
		case petstore.OrderRow:
			more.Orders = n
		}
		return func() { s.making(of, -1) }, s.Fits(ctx, w, more)
	}
}

// making notes that more rows are being made, or fewer, and returns how many are.
func (s *Service) making(of rows, more int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.made[of] + more
	if s.made[of] = n; n == 0 {
		delete(s.made, of)
	}
	return n
}

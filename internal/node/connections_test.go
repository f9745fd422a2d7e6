package node

import (
	"math"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

func TestStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		memory, connections int64 // 0 for as many as there are by default
		want                int
	}{
		{32 << 20, 0, 8},
		{512 << 20, 0, 8},
		{2 << 30, 0, 8},
		{8 << 30, 0, 32},
		{64 << 30, 0, 100},
		{math.MaxInt64, 0, 100},
		{32 << 20, 16, 64},
		{32 << 20, 256, 4},
		{32 << 20, 8192, 4},
		{math.MaxInt64, 1_000_000, 100},
	} {
		b := newBudget(c.memory)
		connections := c.connections
		if connections == 0 {
			connections = b.quarter / connectionCost
		}
		if got := b.streams(connections); got != c.want {
			t.Errorf("with %d MiB, streams(%d) = %d, want %d", c.memory>>20, connections, got, c.want)
		}
	}
}

// Reads wait for their turn where turns are fair, and not for a connection to the store.
func TestReads(t *testing.T) {
	t.Parallel()
	if got := newBudget(32 << 20).reads(8); got != 4 {
		t.Errorf("with 32 MiB, reads(8) = %d, want 4", got)
	}
	if got := newBudget(64 << 30).reads(8); got != 8 {
		t.Errorf("with 64 GiB, reads(8) = %d, want 8", got)
	}
}

func TestCaches(t *testing.T) {
	t.Parallel()
	if newBudget(255<<20).caches() || !newBudget(256<<20).caches() {
		t.Error("answers are cached in less than 256 MiB, or are not in as much")
	}
}

// A key that is revoked stands no more once the directory has read it again.
func TestKeyStands(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	_, k := makeKey(t, db)
	n := &node{now: time.Now, limiter: ratelimit.New(ratelimit.DefaultConfig(), time.Now)}
	n.keys = access.NewDirectory(db, time.Now, n.attach)
	if n.keys.Entry(k.ID) == nil || !n.keyIsValid(k.ID) {
		t.Error("a live key does not stand")
	}
	must(t, (access.Keyring{Store: db, Now: time.Now, By: actor}).Revoke(t.Context(), k.ID, petstore.Condition{}))
	must(t, n.keys.Refresh(t.Context()))
	n.keyIsValid(k.ID) // which does not read the store
	if e := n.keys.Entry(k.ID); e != nil || n.keyIsValid(k.ID) {
		t.Errorf("the revoked key is %+v, and stands", e)
	}
}

package sqlite

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// newTestCache returns the rows of a cache with no file behind them.
func newTestCache(rows int) *cache {
	c := &cache{}
	c.makeRoom(rows)
	return c
}

func (c *cache) put(k rowKey, r row) {
	s, spread := c.stripe(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(k, spread, &r)
}

func (c *cache) get(k rowKey) (row, bool) {
	s, spread := c.stripe(k)
	return s.get(k, spread)
}

func TestShelvesHoldWhatWasPut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what string
		key  rowKey
		row  row
		held bool
	}{
		{"short", rowKey{1, 2}, row{"Laika", 3, 4, 1}, true},
		{"no name", rowKey{1, 2}, row{"", 3, 4, 2}, true},
		{"name that just fits", rowKey{1, 2}, row{strings.Repeat("x", shortName), 3, 4, 0}, true},
		{"longer name", rowKey{1, 2}, row{strings.Repeat("x", shortName+1), 3, 4, 0}, true},
		{"longest name", rowKey{1, 2}, row{strings.Repeat("🐕", 100), 3, 4, 0}, true},
		{"greatest", rowKey{math.MaxUint32, math.MaxInt64}, row{"Laika", math.MaxUint32, math.MaxUint32, 2}, true},
		{"great workspace", rowKey{math.MaxUint32 + 1, 1}, row{"Laika", 3, 4, 0}, false},
		{"great category", rowKey{1, 2}, row{"Laika", math.MaxUint32 + 1, 4, 0}, false},
		{"great quantity", rowKey{1, 2}, row{"Laika", 3, math.MaxUint32 + 1, 0}, false},
		{"negative quantity", rowKey{1, 2}, row{"Laika", 3, -1, 0}, false},
	} {
		c := newTestCache(1 << 10)
		if _, ok := c.get(test.key); ok {
			t.Errorf("%s: it is there before it was put", test.what)
		}
		c.put(test.key, row{name: strings.Repeat("before ", 10)}) // which must go in any case
		c.put(test.key, test.row)
		if got, ok := c.get(test.key); test.held && (!ok || got != test.row) || !test.held && ok {
			t.Errorf("%s: get() = %v, %t, want %v, %t", test.what, got, ok, test.row, test.held)
		}
		if _, ok := c.get(rowKey{test.key.workspace + 1, test.key.id}); ok {
			t.Errorf("%s: another workspace has it too", test.what)
		}
		s, spread := c.stripe(test.key)
		s.drop(test.key, spread)
		if _, ok := c.get(test.key); ok || len(s.long) > 0 {
			t.Errorf("%s: it is there after it was dropped, with %d long names", test.what, len(s.long))
		}
	}
}

// TestShelvesAgainstMap puts, drops and flushes at random: whatever is held is
// what was put last.
func TestShelvesAgainstMap(t *testing.T) {
	t.Parallel()
	c, r := newTestCache(1<<12), rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a repeatable sequence
	last := make(map[rowKey]row)
	found := 0
	for i := range 200_000 {
		k := rowKey{1 + r.Int64N(3), 1 + r.Int64N(2000)}
		s, spread := c.stripe(k)
		switch n := r.IntN(20_000); {
		case n == 0:
			for i := range c.rows {
				c.rows[i].flush()
			}
			clear(last)
		case n < 2000:
			s.drop(k, spread)
			delete(last, k)
		case n < 10_000:
			last[k] = row{name: strings.Repeat("n", r.IntN(40)), category: int64(i), quantity: int64(n)}
			c.put(k, last[k])
		default:
			got, ok := c.get(k)
			if ok && got != last[k] {
				t.Fatalf("after %d steps: get(%v) = %v, want %v", i, k, got, last[k])
			}
			if ok {
				found++
			}
		}
	}
	if found < 10_000 {
		t.Errorf("%d were found, want most of a hundred thousand", found)
	}
	for i := range c.rows {
		if s := &c.rows[i]; uint64(len(s.long)) > s.sets*setRows/8 {
			t.Errorf("a stripe has %d long names for %d rows", len(s.long), s.sets*setRows)
		}
	}
}

// TestShelvesKeepThePopular reads animals as the web reads pages, one in three of
// them once only, and wants most reads of what is popular to find it.
func TestShelvesKeepThePopular(t *testing.T) {
	t.Parallel()
	const rows = 1 << 12
	c, r := newTestCache(rows), rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a repeatable sequence
	popular := rand.NewZipf(r, 1.1, 1, 10*rows-1)
	found, asked := 0, 0
	for i := range 400_000 {
		k := rowKey{1, 1 + int64(popular.Uint64())*7919%(10*rows)} //nolint:gosec // small
		if i%3 == 0 {
			k.id = 1_000_000 + int64(i)
		}
		_, ok := c.get(k)
		if !ok {
			c.put(k, row{name: "Laika"})
		}
		if i%3 != 0 && i > 100_000 {
			asked++
			if ok {
				found++
			}
		}
	}
	if share := float64(found) / float64(asked); share < 0.75 {
		t.Errorf("%.2f of the reads of popular animals found them, want 0.75", share)
	}
}

// TestShelvesCostWhatIsHeld: a small shop needs little, and a row has no
// pointers and 48 bytes.
func TestShelvesCostWhatIsHeld(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(packedRow{}); size != 48 {
		t.Errorf("a row has %d bytes, want 48", size)
	}
	c := newTestCache(1 << 17)
	for id := range int64(500) {
		c.put(rowKey{1, id + 1}, row{name: "Laika"})
	}
	shelves := 0
	for i := range c.rows {
		for _, s := range c.rows[i].shelves {
			if s != nil {
				shelves++
			}
		}
	}
	if most := 2 * rowStripes; shelves > most {
		t.Errorf("500 animals stand on %d shelves, want %d at most", shelves, most)
	}
}

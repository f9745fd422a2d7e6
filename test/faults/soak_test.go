//go:build linux

package faults

import (
	"testing"
	"time"
)

// part is how many faults a long campaign puts into one database, before it is
// audited and the next one begins.
const part = 250

// A long campaign is run for a share of the time, or for a number of faults.
type long struct {
	name  string
	begin func(*testing.T) campaign // with what it needs, until the test ends
}

func longs() []long {
	kills := func(t *testing.T) campaign {
		return campaign{disk: folder(t.TempDir()), fault: kill, load: 200}
	}
	cuts := func(kind string) func(*testing.T) campaign {
		return func(t *testing.T) campaign { return campaign{disk: newLoop(t, kind), fault: cutPower} }
	}
	return []long{
		{"kill", kills},
		{"ext4", cuts("ext4")},
		{"xfs", cuts("xfs")},
		{"disk", func(t *testing.T) campaign {
			needStrace(t)
			return campaign{disk: folder(t.TempDir()), fault: failSomehow}
		}},
		{"full", func(t *testing.T) campaign { return fullDisk(t, newSmallLoop(t, "ext4", room)) }},
		{"promotion", promotions},
		{"crash", crashes},
	}
}

// TestSoak runs the campaigns in turn, with a new seed for each part, for as
// long as the flags say.
func TestSoak(t *testing.T) {
	if *soak == 0 && *volume == 0 {
		t.Skip("a long campaign runs with -args -soak=DURATION, as make soak does, or with -faults=NUMBER")
	}
	for i, l := range longs() {
		t.Run(l.name, func(t *testing.T) { l.run(t, *seed+uint64(i)<<32, *volume, *soak/time.Duration(len(longs()))) })
	}
}

// run ends after so many faults, if that is not 0, else after so long.
func (l long) run(t *testing.T, seed uint64, faults int, length time.Duration) {
	var sum report
	for began, n := time.Now(), uint64(0); ; n++ {
		left := length - time.Since(began)
		if faults > 0 && sum.faults >= faults || faults == 0 && left <= 0 {
			break
		}
		ok := t.Run("", func(t *testing.T) {
			c := l.begin(t)
			c.binary, c.seed, c.cycles = petstore, seed+n, part
			if faults > 0 {
				c.cycles = min(part, faults-sum.faults)
			} else {
				c.length = left
			}
			sum = sum.plus(hold(t, c))
		})
		t.Log("in all: ", sum)
		if !ok {
			break
		}
	}
}

func (r report) plus(o report) report {
	return report{
		faults: r.faults + o.faults, acknowledged: r.acknowledged + o.acknowledged, cancelled: r.cancelled + o.cancelled,
		refused: r.refused + o.refused, replayed: r.replayed + o.replayed, retries: r.retries + o.retries, took: r.took + o.took,
	}
}

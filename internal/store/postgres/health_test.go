package postgres

import (
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
)

func TestStatsOfPools(t *testing.T) {
	t.Parallel()
	db := node(t, newDatabase(t), Options{Readers: 3})
	if got := db.MaxReaders(); got != 3 {
		t.Errorf("MaxReaders() = %d before any was opened, want 3", got)
	}
	newStocked(t, db, 1)
	s := db.Stats()
	var names []string
	for _, p := range s.Pools {
		names = append(names, p.Name)
		if p.Name == "read" && p.Most != 3 || p.Used+p.Idle > p.Most || p.Name == "write" && (p.Acquired == 0 || p.Opened == 0) {
			t.Errorf("pool = %+v", p)
		}
	}
	if got := strings.Join(names, " "); got != "write issue read" {
		t.Errorf("pools = %q, want write issue read", got)
	}
	if s.Groups == 0 || s.Writes != s.Groups {
		t.Errorf("Stats = %+v, want commits of one change", s.Stats)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url, Options{Now: func() time.Time { return time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC) }})
	newStocked(t, db, 1)
	began := time.Date(2032, 1, 1, 0, 0, 0, 0, time.UTC)
	must(t, db.StartSession(t.Context(), access.Session{Hash: [32]byte{1}, Started: began, Until: began.Add(time.Hour)}))
	d, err := Diagnose(t.Context(), url)
	if err != nil || !d.Newest.Equal(began) || time.Since(d.Now).Abs() > time.Minute {
		t.Errorf("Diagnose = %+v, %v, want the newest of 2032 and the present", d, err)
	}
	if text := strings.Join(d.Problems, "; "); !strings.Contains(text, "fsync is off") || len(d.Problems) != 1 {
		t.Errorf("problems = %q, want that fsync is off alone", text)
	}
}

package node

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/admin"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/store/sqlite"
)

// health returns the state of the node for the operator's console.
func (n *node) health(ctx context.Context, checks []check) []admin.Figure {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	list := []admin.Figure{{Name: "version", Value: n.Version}, {Name: "up since", Value: rfc3339(n.started)}}
	for _, c := range checks {
		f := admin.Figure{Name: c.name, Value: "ready", State: true}
		if err := c.err(); err != nil {
			f.Value, f.Bad = err.Error(), true
		}
		list = append(list, f)
	}
	list = append(list, database(ctx, n.store))
	if !n.Config.OnPostgres() {
		list = append(list, disk(filepath.Dir(n.Config.DB)))
	}
	counts := admin.Figure{Name: "counts of limits", Value: "all are saved"}
	if unsaved := n.limiter.Stats().FailedSaves; unsaved > 0 {
		counts.Value, counts.Bad = page.Number(unsaved)+" not saved", true
	}
	return append(list, n.backups.figure(ctx, n.started), counts)
}

// rfc3339 returns an instant in the form that the page formats.
func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func database(ctx context.Context, s Store) admin.Figure {
	f := admin.Figure{Name: "database", Value: "PostgreSQL"}
	if _, yes := s.(*sqlite.DB); yes {
		f.Value = "SQLite"
	}
	size, err := s.Size(ctx)
	if err != nil {
		f.Value, f.Bad = f.Value+", whose size is not known: "+err.Error(), true
		return f
	}
	f.Value += ", " + inBytes(size)
	return f
}

// lowDisk is the share of free space of a disk, in percent, below which it is low.
const lowDisk = 5

func disk(dir string) admin.Figure {
	free, whole, err := sqlite.DiskSpace(dir)
	if err != nil {
		return admin.Figure{Name: "disk", Value: "not known: " + err.Error(), Bad: true}
	}
	return admin.Figure{Name: "disk", Value: inBytes(free) + " free of " + inBytes(whole), Bad: free < whole/100*lowDisk}
}

// figure says when the newest backup was made. It is bad if there was none for twice the
// interval of the schedule. started is when the server started.
func (s *scheduler) figure(ctx context.Context, started time.Time) admin.Figure {
	f := admin.Figure{Name: "last backup", Value: "none yet"}
	all, err := s.List(ctx)
	switch {
	case petstore.CodeOf(err) == httpapi.CodeBackupUnavailable:
		f.Value = "this server makes none"
		return f
	case err != nil:
		f.Value, f.Bad = "not known: "+err.Error(), true
		return f
	case len(all) > 0:
		f.Value = rfc3339(all[0].CreatedAt) + ", " + inBytes(all[0].Bytes)
	}
	if s.every > 0 {
		f.Value += ", one every " + strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(s.every.String())
		f.Bad = s.now().Sub(started) > 2*s.every && s.now().Sub(s.newest()) > 2*s.every
	}
	return f
}

// inBytes returns a number of bytes with a unit.
func inBytes(n int64) string { return humanize.SIWithDigits(float64(n), 1, "B") }

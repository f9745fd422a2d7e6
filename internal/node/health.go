package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/store/sqlite"
)

// health returns how the node stands, in words.
func (n *node) health(ctx context.Context, checks []check) []console.Figure {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	list := []console.Figure{{Name: "version", Value: n.Version}, uptime(n.started, n.now())}
	for _, c := range checks {
		f := console.Figure{Name: c.name, Value: "ready", State: true}
		if err := c.err(); err != nil {
			f.Value, f.Bad = err.Error(), true
		}
		list = append(list, f)
	}
	list = append(list, database(ctx, n.store))
	if !n.Config.OnPostgres() {
		list = append(list, disk(filepath.Dir(n.Config.DB)))
	}
	l, s := n.limiter.Stats(), n.store.Figures()
	return append(list, n.backups.figure(ctx, n.started),
		console.Figure{Name: "limiter", Value: fmt.Sprintf("workspaces %d, keys %d, bans %d", l.Workspaces, l.Keys, l.Bans)},
		console.Figure{Name: "addresses without a key", Value: fmt.Sprintf("%d of at most %d counted, %d requests from others", l.Addresses, l.AddressCapacity, l.OverflowAdmitted)},
		console.Figure{Name: "limits that could not be saved", Value: fmt.Sprint(l.FailedSaves), Bad: l.FailedSaves > 0},
		console.Figure{Name: "writes", Value: fmt.Sprintf("%d in %d commits, at most %d together, %d waiting", s.Writes, s.Groups, s.LargestGroup, s.Waiting)},
		console.Figure{Name: "requests missing in the charts", Value: fmt.Sprint(n.usage.Lost()), Bad: n.usage.Lost() > 0},
	)
}

// uptime names the instant in RFC 3339, of which the page makes a time.
func uptime(since, now time.Time) console.Figure {
	up := now.Sub(since).Truncate(time.Minute)
	text := fmt.Sprintf("%d min", up/time.Minute)
	if hours := int(up.Hours()); hours >= 48 {
		text = fmt.Sprintf("%d days %d h", hours/24, hours%24)
	} else if hours > 0 {
		text = fmt.Sprintf("%d h %d min", hours, int(up.Minutes())%60)
	}
	return console.Figure{Name: "uptime", Value: text + ", since " + rfc3339(since)}
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func database(ctx context.Context, s Store) console.Figure {
	f := console.Figure{Name: "database", Value: "PostgreSQL"}
	if _, yes := s.(FileStore); yes {
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

// lowDisk is the share of a disk, in percent, below which its free room is low.
const lowDisk = 5

func disk(dir string) console.Figure {
	free, whole, err := sqlite.Room(dir)
	if err != nil {
		return console.Figure{Name: "disk", Value: "not known: " + err.Error(), Bad: !errors.Is(err, errors.ErrUnsupported)}
	}
	return console.Figure{Name: "disk", Value: inBytes(free) + " free of " + inBytes(whole), Bad: free < whole/100*lowDisk}
}

// figure says when the newest backup was made, and that the schedule is late once two
// of its turns are missing, of a server that has run since started.
func (s *scheduler) figure(ctx context.Context, started time.Time) console.Figure {
	f := console.Figure{Name: "last backup", Value: "this server makes none"}
	if s.able() != nil {
		return f
	}
	all, err := s.List(ctx)
	if err != nil {
		f.Value, f.Bad = "not known: "+err.Error(), true
		return f
	}
	since := started
	if newest := s.newest(); newest.After(since) {
		since = newest
	}
	f.Value, f.Bad = "none yet", s.every > 0 && s.now().Sub(since) > 2*s.every
	if len(all) > 0 {
		f.Value = rfc3339(all[0].CreatedAt) + ", " + inBytes(all[0].Bytes)
	}
	if s.every > 0 {
		f.Value += ", one each " + s.every.String()
	}
	return f
}

// inBytes returns a number of bytes with a unit.
func inBytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, units := float64(n)/1000, []string{"kB", "MB", "GB", "TB"}
	for size >= 1000 && len(units) > 1 {
		size, units = size/1000, units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}

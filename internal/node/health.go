package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"example.com/petstore/internal/ops"
	"example.com/petstore/internal/portal/admin"
	"example.com/petstore/internal/store/sqlite"
)

// health returns how the node stands, in words.
func (n *node) health(ctx context.Context, checks []ops.Check) []admin.Figure {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	list := []admin.Figure{{Name: "version", Value: n.Version}, n.uptime()}
	for _, c := range checks {
		f := admin.Figure{Name: c.Name, Value: "ready", State: true}
		if err := c.Err(); err != nil {
			f.Value, f.Bad = err.Error(), true
		}
		list = append(list, f)
	}
	list = append(list, n.database(ctx))
	if !n.Config.OnPostgres() {
		list = append(list, n.disk())
	}
	l, s := n.limiter.Stats(), n.store.Figures()
	return append(list, n.lastBackup(ctx),
		admin.Figure{Name: "limiter", Value: fmt.Sprintf("workspaces %d, keys %d, bans %d", l.Workspaces, l.Keys, l.Bans)},
		admin.Figure{Name: "addresses without a key", Value: fmt.Sprintf("%d of at most %d counted, %d requests from others", l.Addresses, l.AddressCapacity, l.OverflowAdmitted)},
		admin.Figure{Name: "limits that could not be saved", Value: fmt.Sprint(l.FailedSaves), Bad: l.FailedSaves > 0},
		admin.Figure{Name: "writes", Value: fmt.Sprintf("%d in %d commits, at most %d together, %d waiting", s.Writes, s.Groups, s.LargestGroup, s.Waiting)},
		admin.Figure{Name: "requests missing in the charts", Value: fmt.Sprint(n.usage.Lost()), Bad: n.usage.Lost() > 0},
	)
}

// uptime names the instant in RFC 3339, of which the page makes a time.
func (n *node) uptime() admin.Figure {
	up := n.now().Sub(n.started).Truncate(time.Minute)
	text := fmt.Sprintf("%d min", up/time.Minute)
	if hours := int(up.Hours()); hours >= 48 {
		text = fmt.Sprintf("%d days %d h", hours/24, hours%24)
	} else if hours > 0 {
		text = fmt.Sprintf("%d h %d min", hours, int(up.Minutes())%60)
	}
	return admin.Figure{Name: "uptime", Value: text + ", since " + rfc3339(n.started)}
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (n *node) database(ctx context.Context) admin.Figure {
	f := admin.Figure{Name: "database", Value: "SQLite"}
	if n.Config.OnPostgres() {
		f.Value = "PostgreSQL"
	}
	size, err := n.store.Size(ctx)
	if err != nil {
		f.Value, f.Bad = f.Value+", whose size is not known: "+err.Error(), true
		return f
	}
	f.Value += ", " + inBytes(size)
	return f
}

// lowDisk is the share of a disk, in percent, below which its free room is low.
const lowDisk = 5

func (n *node) disk() admin.Figure {
	free, whole, err := sqlite.Room(filepath.Dir(n.Config.DB))
	if err != nil {
		return admin.Figure{Name: "disk", Value: "not known: " + err.Error(), Bad: !errors.Is(err, errors.ErrUnsupported)}
	}
	return admin.Figure{Name: "disk", Value: inBytes(free) + " free of " + inBytes(whole), Bad: free < whole/100*lowDisk}
}

// lastBackup says when the newest backup was made, and that the schedule is late
// once two of its turns are missing.
func (n *node) lastBackup(ctx context.Context) admin.Figure {
	f := admin.Figure{Name: "last backup", Value: "this server makes none"}
	if n.backups.able() != nil {
		return f
	}
	all, err := n.backups.List(ctx)
	if err != nil {
		f.Value, f.Bad = "not known: "+err.Error(), true
		return f
	}
	every := n.Config.Backup.Every
	newest := n.newestBackup()
	since := n.started
	if newest.After(since) {
		since = newest
	}
	f.Value, f.Bad = "none yet", every > 0 && n.now().Sub(since) > 2*every
	if len(all) > 0 {
		f.Value = rfc3339(all[0].CreatedAt) + ", " + inBytes(all[0].Bytes)
	}
	if every > 0 {
		f.Value += ", one each " + every.String()
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

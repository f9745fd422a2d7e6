package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// pinned is how long after a write a replica is asked whether it has it. One
// that is further behind is no use to anybody.
const pinned = time.Minute

// A replica answers reads. After a write of this node to a workspace, reads of
// that workspace on this node go to the primary until the replica has it. Each
// connection is asked for itself: the URL may lead to one of several replicas.
type replica struct {
	pool *pgxpool.Pool
	now  func() time.Time
	lag  atomic.Int64 // see Stats.ReplicaLag, in nanoseconds

	mu      sync.Mutex
	commits map[int64]commit
	swept   time.Time
}

// A commit is where the log stood after one, and when that was.
type commit struct {
	position int64 // in bytes of the log
	at       time.Time
}

// The position after a commit, and whether a replica has replayed so far.
const (
	selectPosition = "SELECT (pg_current_wal_lsn() - '0/0')::bigint"
	hasPosition    = "SELECT NOT pg_is_in_recovery() OR (pg_last_wal_replay_lsn() - '0/0')::bigint >= $1"
)

// selectLag asks a replica how many seconds what it shows lags behind. One that
// has replayed all that it received is up to date, however long nobody has
// written; one that receives nothing any more is found by its age.
const selectLag = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN 0
	WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT 1 FROM pg_stat_wal_receiver) THEN 0
	ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), -1) END::float8`

func openReplica(ctx context.Context, o Options) (*replica, error) {
	name, err := describe(o.ReadURL)
	if err != nil {
		return nil, err
	}
	pool, err := openPool(ctx, o.ReadURL, following, o.Readers)
	if err != nil {
		return nil, fmt.Errorf("replica %s: %w", name, err)
	}
	r := &replica{pool: pool, now: time.Now, commits: make(map[int64]commit)}
	r.lag.Store(-1)
	return r, nil
}

// wrote notes a commit of this node.
func (r *replica) wrote(workspace, position int64) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits[workspace] = commit{max(position, r.commits[workspace].position), now}
	if now.Sub(r.swept) < pinned {
		return
	}
	r.swept = now
	for w, c := range r.commits {
		if now.Sub(c.at) > pinned {
			delete(r.commits, w)
		}
	}
}

// latest returns the position that a reader of the workspace must see, or 0.
func (r *replica) latest(workspace int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commits[workspace].position
}

// read calls f with a connection to a replica, and reports whether that settled
// the matter. If not, the primary has to be asked: the replica is behind, or it
// cannot answer.
func (r *replica) read(ctx context.Context, workspace int64, f func(*pgxpool.Conn) error) (done bool, err error) {
	position := r.latest(workspace)
	err = r.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		if position != 0 {
			var there bool
			err := c.QueryRow(ctx, hasPosition, position).Scan(&there)
			if err != nil || !there {
				return err
			}
		}
		done = true
		return f(c)
	})
	return done && gravityOf(err) == ordinary, err
}

// measure finds out how far the replica lags behind.
func (r *replica) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var seconds float64
	if err := r.pool.QueryRow(ctx, selectLag).Scan(&seconds); err != nil || seconds < 0 {
		r.lag.Store(-1)
		return
	}
	r.lag.Store(int64(seconds * float64(time.Second)))
}

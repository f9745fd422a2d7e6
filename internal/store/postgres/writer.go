package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// committers is how many groups are under way at once on a node: while one
// waits for the disk the next one is decided. More of them make smaller groups.
// A single one was faster with PostgreSQL on the same machine; with PostgreSQL on
// another one, a simulation has it place 20,000 orders a second instead of 33,000.
const committers = 2

// attempts bounds how often a group is tried.
const attempts = 5

// Do implements [petstore.Store].
//
// The changes that wait when a committer is free are carried out together: it
// loads and locks the rows of all of them with a few statements, decides one
// after the other in memory, each on what those before it left, writes what
// they decided with a few statements more, and answers all of them after one
// commit. A refused change changes nothing; if the database refuses what one
// of them writes, all are tried again one by one.
func (db *DB) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	w, err := db.queue.Do(ctx, job{change: c})
	if err != nil {
		return nil, petstore.Unavailable(err)
	}
	return w.Job.receipt, w.Err
}

// A job is a change, and the receipt that its caller gets.
type job struct {
	change  *petstore.Change
	receipt *petstore.Receipt
}

// alone reports whether the change must not share a transaction: whether a
// category is in use has to be asked of the database, which does not know yet
// what the others of a group have decided.
func (j job) alone() bool { return j.change.Needs.CategoryUse }

// A write is a change that waits for a committer.
type write = store.Write[job]

// commit carries out a group and answers it, one by one if the whole of it is
// refused because of one.
func (db *DB) commit(writes []*write) {
	g, err := db.transact(writes)
	if err != nil && gravityOf(err) == ordinary && len(writes) > 1 {
		db.counted.split.Add(1)
		for i := range writes {
			db.commit(writes[i : i+1])
		}
		return
	}
	if gravityOf(err) == conflict {
		err = petstore.Unavailable(err)
	}
	err = judge(err)
	db.counted.Add(len(writes), err)
	if petstore.CodeOf(err) == petstore.CodeServiceUnavailable {
		db.note(err)
	} else {
		db.note(nil)
	}
	g.answer(err)
	if err == nil {
		for workspace := range g.events {
			db.written(workspace)
		}
	}
}

// transact tries a group until it is committed or has failed for good.
func (db *DB) transact(writes []*write) (g *group, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	for n := range attempts {
		g = newGroup(writes, petstore.At(db.now()), db.Lived())
		g.silent = db.silent
		var sent bool
		if sent, err = db.try(ctx, g); err == nil || !again(err, sent, len(writes)) {
			return g, err
		}
		db.counted.retries.Add(1)
		if pause(ctx, n) != nil {
			return g, err
		}
	}
	return g, err
}

// again reports whether a group that failed is to be tried again. sent says
// that its commit was on its way: then it is only if the server said no.
func again(err error, sent bool, size int) bool {
	switch code := state(err); {
	case gravityOf(err) == conflict:
		return true
	case code == stateUniqueViolation, code == stateForeignKeyViolation:
		return size == 1 // another node was faster: decide anew
	}
	return !sent && lost(err)
}

// pause waits a moment before the try after the n-th, longer each time, and not
// as long as others do.
func pause(ctx context.Context, n int) error {
	most := 4 * time.Millisecond << (2 * n)
	timer := time.NewTimer(most/4 + rand.N(most))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try carries out a group in one transaction. sent reports whether its commit
// may have reached the server.
func (db *DB) try(ctx context.Context, g *group) (sent bool, err error) {
	c, err := db.writer.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer c.Release()
	defer func() {
		if err != nil {
			db.leaveReplica(err)
			rollback(ctx, c.Conn())
		}
	}()
	if err := g.load(ctx, c.Conn()); err != nil {
		return false, err
	}
	g.decide()
	if g.issued, err = issue(ctx, db.issuers, g.demands); err != nil {
		return false, err
	}
	if err := g.assignIDs(); err != nil {
		return false, err
	}
	return true, db.write(ctx, c.Conn(), g)
}

// rollback leaves the connection fit for the next transaction; a connection
// that cannot be is closed by the pool.
func rollback(ctx context.Context, c *pgx.Conn) {
	if !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		_, _ = c.Exec(ctx, "ROLLBACK") // the pool looks at the state again
	}
}

// leaveReplica has all connections made anew if err says that the server no
// longer takes writes: it was demoted, and another one has taken over.
func (db *DB) leaveReplica(err error) {
	if state(err) == stateReadOnly {
		db.writer.Reset()
		db.issuers.Reset()
		db.readers.Reset()
	}
}

// errUnconfirmed is a commit that the server carried out without waiting for
// its synchronous standby, because an administrator ended the wait.
var errUnconfirmed = errors.New("the commit was not confirmed by the synchronous standby")

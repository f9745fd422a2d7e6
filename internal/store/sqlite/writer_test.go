package sqlite

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
)

// occupy keeps the writer busy until the returned function is called.
func occupy(t *testing.T, db *DB) (release func()) {
	t.Helper()
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.change(context.Background(), func(*conn) error {
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	var once sync.Once
	release = func() {
		once.Do(func() {
			close(end)
			if err := <-done; err != nil {
				t.Errorf("the change that occupied the writer: %v", err)
			}
		})
	}
	t.Cleanup(release)
	return release
}

func insert(c *conn, subject string) error {
	return c.exec("INSERT INTO audit (at, actor, action, workspace, subject, detail) VALUES (0, '', '', 0, ?, '')", subject)
}

// kept returns how many rows insert made.
func kept(t *testing.T, db *DB) int {
	t.Helper()
	entries, err := db.AuditPage(context.Background(), 0, 0, 10_000)
	must(t, err)
	return len(entries)
}

// TestFailures: an error, a broken constraint and a panic undo their own write, and leave
// those that share its transaction.
func TestFailures(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	refused := petstore.Errorf("refused", "no")
	fails := []func(*conn) error{
		func(*conn) error { return refused },
		func(*conn) error { panic("at the disco") },
		func(c *conn) error { return c.exec("INSERT INTO access_state (only, state) VALUES (2, 0)") },
		func(*conn) error { return nil },
	}
	write := func(i int) {
		err := db.change(context.Background(), func(c *conn) error {
			if err := insert(c, "x"); err != nil {
				return err
			}
			return fails[i](c)
		})
		if ok := []bool{errors.Is(err, refused), errors.Is(err, store.ErrPanicked) && strings.Contains(err.Error(), "at the disco"), sqlite.ErrCode(err) == sqlite.ResultConstraintCheck, err == nil}; !ok[i] {
			t.Errorf("write %d = %v", i, err)
		}
	}
	for i := range fails { // alone
		write(i)
	}
	release := occupy(t, db)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() { write(i % 4) })
	}
	processtest.Eventually(t, "all writes wait", func() bool { return db.Waiting() == 12 })
	release()
	all.Wait()
	if n := kept(t, db); n != 4 {
		t.Errorf("rows = %d, want those of the 4 that succeeded", n)
	}
}

// TestWithdrawn: who waits for the writer can go.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	release := occupy(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- db.change(ctx, func(c *conn) error { return insert(c, "x") }) }()
	processtest.Eventually(t, "the write waits", func() bool { return db.Waiting() == 1 })
	cancel()
	if err := <-done; petstore.CodeOf(err) != petstore.CodeServiceUnavailable || !errors.Is(err, context.Canceled) { // while the writer is still occupied
		t.Errorf("withdrawn write = %v, want %s because of %v", err, petstore.CodeServiceUnavailable, context.Canceled)
	}
	release()
	must(t, db.change(t.Context(), func(*conn) error { return nil })) // after all that waits
	if n := kept(t, db); n != 0 {
		t.Errorf("rows = %d, want none of a withdrawn write", n)
	}
}

// TestBegunIsNotWithdrawn: once it is begun, the caller learns the outcome.
func TestBegunIsNotWithdrawn(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	err := db.change(ctx, func(c *conn) error {
		cancel()
		return insert(c, "x")
	})
	if n := kept(t, db); err != nil || n != 1 {
		t.Errorf("write = %v with %d rows, want success and one", err, n)
	}
}

// TestFullDisk: the caller is told, and writing goes on when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	limit := func(pages string) {
		t.Helper()
		must(t, db.change(t.Context(), func(c *conn) error { return c.exec("PRAGMA max_page_count=" + pages) }))
	}
	limit("1") // SQLite takes the present size for it
	err := db.change(t.Context(), func(c *conn) error { return insert(c, strings.Repeat("large", 100_000)) })
	if petstore.CodeOf(err) != petstore.CodeServiceUnavailable || sqlite.ErrCode(err) != sqlite.ResultFull || db.Err() == nil {
		t.Errorf("write on a full disk = %v, Err %v, want %s because of %v", err, db.Err(), petstore.CodeServiceUnavailable, sqlite.ResultFull)
	}
	limit("1000000")
	if err := db.change(t.Context(), func(c *conn) error { return insert(c, "x") }); err != nil || db.Err() != nil {
		t.Errorf("write with room again = %v, Err %v, want success", err, db.Err())
	}
	if n := kept(t, db); n != 1 {
		t.Errorf("rows = %d, want 1", n)
	}
}

// TestBusy: another process that keeps the lock too long, of which the error tells.
func TestBusy(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	must(t, db.change(t.Context(), func(c *conn) error { c.SetBusyTimeout(time.Millisecond); return nil }))
	other, err := openConn(db.path, false)
	must(t, err)
	defer other.Close()
	must(t, other.exec("BEGIN IMMEDIATE"))
	err = db.change(t.Context(), func(c *conn) error { return insert(c, "x") })
	if petstore.CodeOf(err) != petstore.CodeServiceUnavailable || sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || !strings.Contains(err.Error(), "another process has been writing for 5s") {
		t.Errorf("write beside a lock = %v, want %s because of %v, and that another process writes", err, petstore.CodeServiceUnavailable, sqlite.ResultBusy)
	}
	must(t, other.exec("ROLLBACK"))
	if err := db.change(t.Context(), func(c *conn) error { return insert(c, "x") }); err != nil || db.Err() != nil {
		t.Errorf("write after it = %v, Err %v, want success", err, db.Err())
	}
}

// TestFailed: a file that is overwritten fails the database for good.
func TestFailed(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	workspace := newWorkspace(t, db, "acme")
	ruin(t, db)
	_, err := db.Pet(t.Context(), workspace, 1)
	if got := petstore.CodeOf(err); got != petstore.CodeServiceUnavailable {
		t.Fatalf("Pet of a ruined file = %v, want %s", err, petstore.CodeServiceUnavailable)
	}
	select {
	case <-db.Failed():
	default:
		t.Error("Failed is not closed")
	}
	if db.Err() == nil {
		t.Error("Err = nil, want the cause")
	}
	err = db.change(t.Context(), func(c *conn) error { return insert(c, "x") })
	if got := petstore.CodeOf(err); got != petstore.CodeServiceUnavailable {
		t.Errorf("write = %v, want %s", err, petstore.CodeServiceUnavailable)
	}
}

// ruin overwrites every page of the file but the first.
func ruin(t *testing.T, db *DB) {
	t.Helper()
	err := db.change(t.Context(), func(c *conn) error { return nil })
	must(t, err)
	checkpoint, err := openConn(db.path, false)
	must(t, err)
	must(t, errors.Join(checkpoint.exec("PRAGMA wal_checkpoint(TRUNCATE)"), checkpoint.Close()))
	f, err := os.OpenFile(db.path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size())-4096)), 4096); err != nil {
		t.Fatal(err)
	}
}

// TestForgetInSteps: old receipts are removed, however many there are.
func TestForgetInSteps(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	err := db.change(t.Context(), func(c *conn) error {
		return c.exec(`WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 4500)
			INSERT INTO receipts (workspace, operation, key, fingerprint, row_id, body, created_at)
			SELECT 1, 'POST /pets', n, zeroblob(32), 1, x'', 0 FROM n`)
	})
	must(t, err)
	for _, want := range []int{4500, 0} {
		if n, err := db.Forget(t.Context()); n != want || err != nil {
			t.Errorf("Forget = %d, %v, want %d", n, err, want)
		}
	}
}

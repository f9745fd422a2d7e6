package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/test/servertest"
)

// room is the size of a filesystem that is filled. A long campaign's database, with its log and a backup,
// stays well below it.
const room = 512 << 20

// fill takes all the room that a campaign's disk has, until free.
func (r *run) fill() error {
	f, err := os.Create(r.ballast())
	if err != nil {
		return err
	}
	defer f.Close()
	end := int64(0)
	for piece := int64(room); piece >= 512; {
		switch err := unix.Fallocate(int(f.Fd()), 0, end, piece); {
		case err == nil:
			end += piece
		case errors.Is(err, syscall.ENOSPC):
			piece /= 2
		case !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("fallocate: %w", err)
		}
	}
	return nil
}

func (r *run) free() error { return os.Remove(r.ballast()) }

func (r *run) ballast() string { return filepath.Join(r.dir, "ballast") }

// poll waits until f is true.
func (r *run) poll(what string, f func() bool) error {
	for deadline := time.Now().Add(servertest.Patience); !f(); time.Sleep(time.Millisecond) { // between two polls
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %s; the server said\n%s", servertest.Patience, what, r.said())
		}
		select {
		case <-r.server.Ended:
			return fmt.Errorf("the server ended: %w\n%s", r.server.Err, r.said())
		default:
		}
	}
	return nil
}

// said returns the end of the server's log.
func (r *run) said() string {
	text := r.server.LogText()
	return text[max(0, len(text)-2000):]
}

// refusing returns when orders fail.
func (r *run) refusing() error {
	before := r.buyers.tries.Load()
	return r.poll("orders fail on a full disk", func() bool { return r.buyers.tries.Load() >= before+50 })
}

// relieve makes room again, after which the server must be well without a restart.
func (r *run) relieve() error {
	if err := r.free(); err != nil {
		return err
	}
	if !r.work(50) {
		return fmt.Errorf("the server did not get well when there was room:\n%s", r.said())
	}
	return nil
}

// fullForOrders fills the disk under load. Readiness says so meanwhile, and comes
// right by itself.
func fullForOrders(r *run) error {
	if err := r.fill(); err != nil {
		return err
	}
	err := errors.Join(r.refusing(), r.awaitReady(http.StatusServiceUnavailable, "nothing can be written"))
	if err = errors.Join(err, r.relieve()); err != nil {
		return err
	}
	return r.awaitReady(http.StatusOK, "")
}

// awaitReady waits until /readyz answers so, with the reason, and the metric says the same.
func (r *run) awaitReady(status int, reason string) error {
	want := map[int]string{http.StatusOK: "1", http.StatusServiceUnavailable: "0"}[status]
	return r.poll(fmt.Sprintf("/readyz answers %d %s", status, reason), func() bool {
		a, err := servertest.Send(context.Background(), http.DefaultClient, servertest.Request{Method: http.MethodGet, URL: r.server.Ops + "/readyz"})
		return err == nil && a.Status == status && strings.Contains(a.Body, reason) && r.server.Metric("petstore_ready") == want
	})
}

// fullForCheckpoint fills the disk when the log has just been moved into the
// database file: the log goes on in the room that it has, and its next move fails,
// as that file must grow for it. If the log has not begun anew by then it is the
// log that finds no room, and it is tried again.
func fullForCheckpoint(r *run) error {
	for range 20 {
		failed, err := r.fullAfterMove()
		if err != nil || failed {
			return err
		}
	}
	return errors.New("of 20 full disks none made a move of the log fail")
}

// fullAfterMove reports whether a move of the log failed.
func (r *run) fullAfterMove() (failed bool, err error) {
	const notMoved = "the log could not be moved into the file"
	moved := r.moved()
	if err := r.poll("the log is moved", func() bool { return r.moved().After(moved) }); err != nil {
		return false, err
	}
	tries, told := r.buyers.tries.Load(), strings.Count(r.server.LogText(), notMoved)
	if err := r.fill(); err != nil {
		return false, err
	}
	err = r.poll("the log cannot be moved, or orders fail", func() bool {
		failed = strings.Count(r.server.LogText(), notMoved) > told
		return failed || r.buyers.tries.Load() >= tries+50
	})
	return failed, errors.Join(err, r.relieve())
}

// moved returns when the database file was last written.
func (r *run) moved() time.Time {
	info, err := os.Stat(filepath.Join(r.dir, "petstore.db"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// fullForBackup lets a backup run out of room: it says so and leaves nothing, and
// with room the next one is whole.
func fullForBackup(r *run) error {
	const file = "backup.db"
	if err := r.fill(); err != nil {
		return err
	}
	_, failed := petstore.Run(r.dir, "backup", file)
	left, err := filepath.Glob(filepath.Join(r.dir, file+"*"))
	if err = errors.Join(err, r.relieve()); err != nil {
		return err
	}
	if failed == nil || len(left) > 0 {
		return fmt.Errorf("a backup without room ended well (%v) or left something: %q", failed == nil, left)
	}
	if _, err := petstore.Run(r.dir, "backup", file); err != nil {
		return fmt.Errorf("a backup when there was room: %w", err)
	}
	return os.Remove(filepath.Join(r.dir, file))
}

// fullForCounts fills the disk until counts could not be saved. What was counted
// then is saved when there is room, and outlives a kill.
func fullForCounts(r *run) error {
	failed := func() int {
		n, _ := strconv.Atoi(r.server.Metric("petstore_limiter_failed_saves_total"))
		return n
	}
	if err := r.fill(); err != nil {
		return err
	}
	err := r.refusing()
	before := failed()
	err = errors.Join(err, r.poll("a save of counts fails", func() bool { return failed() > before }))
	counted, err2 := servertest.UsedToday(r.server.URL, r.buyers.key)
	if err = errors.Join(err, err2, r.relieve()); err != nil {
		return err
	}
	if err := r.poll("the counts are saved", func() bool { return r.savedToday() >= counted }); err != nil {
		return err
	}
	if err := kill(r); err != nil {
		return err
	}
	after, err := servertest.UsedToday(r.server.URL, r.buyers.key)
	if err == nil && after < counted {
		err = fmt.Errorf("%w: %d requests were counted on a full disk, and %d after a kill", errLedger, counted, after)
	}
	return err
}

// savedToday returns how many requests of the shop the database knows of.
func (r *run) savedToday() int64 {
	var keys []struct{ UsedToday int64 }
	out, err := petstore.Run(r.dir, "key", "list", "shop", "-o=json")
	if err != nil || json.Unmarshal([]byte(out), &keys) != nil || len(keys) != 1 {
		return -1
	}
	return keys[0].UsedToday
}

// fullForStart kills the server on a full disk. It may start there or end with
// one line; with room it starts.
func fullForStart(r *run) error {
	if err := r.fill(); err != nil {
		return err
	}
	if err := r.refusing(); err != nil {
		return errors.Join(err, r.free())
	}
	r.server.Kill()
	if err := r.start(); err == nil {
		return r.relieve()
	} else if text := r.server.LogText(); r.server.Cmd.ProcessState.ExitCode() != 1 || strings.Count(text, "\n") != 1 {
		return errors.Join(fmt.Errorf("a start without room: %w", err), r.free())
	}
	if err := r.free(); err != nil {
		return err
	}
	return r.start()
}

// full fills the disk at each of these moments in turn.
func full(r *run) error {
	moments := []func(*run) error{fullForOrders, fullForCheckpoint, fullForBackup, fullForCounts, fullForStart}
	return moments[r.done%len(moments)](r)
}

package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A database is what the files say in their first bytes, which is all that the
// package reads of them.
type database struct{ path string }

func newDatabase(t *testing.T) database {
	t.Helper()
	db := database{filepath.Join(t.TempDir(), "petstore.db")}
	db.write(t, 2, 100)
	must(t, os.Truncate(db.path, 8192))
	db.writeLog(t, 7, 1007)
	return db
}

// write writes the file anew, in place and shorter; mode is 2 if there is a write-ahead log of it.
func (db database) write(t *testing.T, mode byte, changes uint32) {
	t.Helper()
	b := make([]byte, 4096)
	b[18] = mode
	binary.BigEndian.PutUint32(b[24:], changes)
	writeFile(t, db.path, string(b))
}

func (db database) writeLog(t *testing.T, resets, salt uint32) {
	t.Helper()
	b := make([]byte, 64)
	binary.BigEndian.PutUint32(b[12:], resets)
	binary.BigEndian.PutUint32(b[16:], salt)
	writeFile(t, db.path+"-wal", string(b))
}

// replace puts a copy in the place of the file.
func (db database) replace(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(db.path)
	must(t, err)
	writeFile(t, db.path+".copy", string(text))
	must(t, os.Rename(db.path+".copy", db.path))
}

func (db database) remove(t *testing.T, ends ...string) {
	t.Helper()
	for _, end := range ends {
		must(t, os.Remove(db.path+end))
	}
}

// serve is what a server does first.
func (db database) serve(t *testing.T) (*os.File, *fileWatch) {
	t.Helper()
	lock, err := lockDatabase(t.Context(), db.path, 0, func(string) {})
	must(t, err)
	t.Cleanup(func() { _ = lock.Close() }) // it may be closed by then
	watch, err := newFileWatch(db.path)
	must(t, err)
	must(t, watch.record())
	t.Cleanup(func() { _ = watch.opened.Close() })
	return lock, watch
}

// TestCheckLog: what happened to the files after a server was killed.
func TestCheckLog(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(*testing.T, database)
		want    string // "" if nothing is wrong
	}{
		"nothing":             {func(*testing.T, database) {}, ""},
		"log moved":           {func(t *testing.T, db database) { db.write(t, 2, 150); db.writeLog(t, 8, 1008) }, ""},
		"log of no server":    {func(t *testing.T, db database) { db.write(t, 2, 1); db.writeLog(t, 3, 99) }, ""},
		"log removed":         {func(t *testing.T, db database) { db.remove(t, "-wal") }, ""},
		"emptied":             {func(t *testing.T, db database) { writeFile(t, db.path, "") }, "it is empty"},
		"backup copied":       {func(t *testing.T, db database) { db.write(t, 1, 120) }, "is a backup"},
		"copy moved":          {func(t *testing.T, db database) { db.replace(t) }, "it is another file"},
		"copy copied":         {func(t *testing.T, db database) { db.write(t, 2, 99) }, "it is older"},
		"copy, log reset":     {func(t *testing.T, db database) { db.write(t, 2, 99); db.writeLog(t, 8, 1008) }, "it is older"},
		"counter has wrapped": {func(t *testing.T, db database) { db.write(t, 2, 100+1<<31-1) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			lock, _ := db.serve(t)
			must(t, lock.Close())
			test.happens(t, db)
			err := refuseForeignLog(db.path)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("CheckLog = %v, want %q", err, test.want)
			}
			if _, acquired := lockDatabase(t.Context(), db.path, 0, func(string) {}); fmt.Sprint(acquired) != fmt.Sprint(err) {
				t.Errorf("Acquire = %v, want the error of refuseForeignLog, %v", acquired, err)
			}
			if _, opened := OpenSource(t.Context(), db.path); test.want != "" && !strings.HasSuffix(fmt.Sprint(opened), ": "+fmt.Sprint(err)) {
				t.Errorf("OpenSource = %v, want the error of refuseForeignLog, %v", opened, err)
			}
		})
	}
}

// TestLogOfNoServer: once the log of a server is gone, a later log is not held against what
// the server has recorded of the file before.
func TestLogOfNoServer(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*testing.T, database, *os.File){
		"closed, replaced": func(t *testing.T, db database, lock *os.File) {
			db.remove(t, "-wal")
			must(t, lock.Close())
			db.replace(t)
		},
		"killed, command, replaced": func(t *testing.T, db database, lock *os.File) {
			must(t, lock.Close())
			must(t, refuseForeignLog(db.path)) // the command moves the log into the file, and removes it
			db.remove(t, "-wal")
			db.replace(t)
		},
		"killed, restored": func(t *testing.T, db database, lock *os.File) {
			must(t, lock.Close())
			db.remove(t, "-wal")
			backup := filepath.Join(t.TempDir(), "backup.db")
			openAndClose(t, backup)
			if _, err := Restore(t.Context(), backup, db.path, Options{}); err != nil {
				t.Fatal(err)
			}
			openAndClose(t, db.path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			lock, _ := db.serve(t)
			happens(t, db, lock)
			db.writeLog(t, 0, 4321)
			must(t, refuseForeignLog(db.path))
		})
	}
}

// TestLost: what happens to the files while a server has them, what it is told, and
// what the next start is told.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(*testing.T, database)
		want    string
		whole   bool
		next    string // what refuseForeignLog says; "" for nothing
	}{
		"nothing":     {func(*testing.T, database) {}, "", false, ""},
		"vacuumed":    {func(t *testing.T, db database) { db.write(t, 2, 101) }, "", false, ""},
		"removed":     {func(t *testing.T, db database) { db.remove(t, "") }, "was removed or moved", false, "no such file"},
		"all removed": {func(t *testing.T, db database) { db.remove(t, "", "-wal", "-lock") }, "was removed or moved", false, ""},
		"replaced":    {func(t *testing.T, db database) { db.replace(t) }, "was replaced", false, "it is another file"},
		"log removed": {func(t *testing.T, db database) { db.remove(t, "-wal") }, "-wal was removed or moved", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			lock, watch := db.serve(t)
			test.happens(t, db)
			err := watch.Check()
			lost, ok := errors.AsType[*lostError](err)
			switch {
			case test.want == "" && err != nil:
				t.Fatalf("Check = %v, want nil", err)
			case test.want != "" && (!ok || !strings.Contains(err.Error(), test.want) || lost.whole != test.whole):
				t.Fatalf("Check = %v, want %q, whole: %t", err, test.want, test.whole)
			}
			must(t, lock.Close())
			next := refuseForeignLog(db.path)
			if test.next == "" && next != nil || test.next != "" && (next == nil || !strings.Contains(next.Error(), test.next)) {
				t.Errorf("the next start = %v, want %q", next, test.next)
			}
		})
	}
}

func TestOneServer(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	lock, _ := db.serve(t)
	ran := false
	if err := whileUnserved(db.path, func() error { ran = true; return nil }); !errors.Is(err, ErrInUse) || ran {
		t.Errorf("Alone beside a server = %v, want ErrInUse; f ran: %t", err, ran)
	}
	if _, err := lockDatabase(t.Context(), db.path, 0, func(string) {}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is served by the process %d", os.Getpid())) {
		t.Errorf("Acquire beside a server = %v, want its process", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lockDatabase(ctx, db.path, time.Hour, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire whose context ends = %v, want %v", err, context.Canceled)
	}
	told := 0
	next, err := lockDatabase(t.Context(), db.path, time.Hour, func(string) {
		told++
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil || told != 1 {
		t.Fatalf("Acquire that waits = %v, told %d times, want nil and once", err, told)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	ran = false
	err = whileUnserved(db.path, func() error {
		if _, err := lockDatabase(t.Context(), db.path, 0, func(string) {}); err == nil {
			t.Error("Acquire inside of whileUnserved = nil, want an error")
		}
		return whileUnserved(db.path, func() error { ran = true; return nil }) // another command
	})
	if err != nil || !ran {
		t.Errorf("Alone twice after the servers = %v, want nil; f ran: %t", err, ran)
	}
}

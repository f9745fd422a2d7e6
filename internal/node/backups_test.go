package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestSchedulerKeepsTheLatest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"petstore-20000101T000000Z.db.partial", "notes.txt", "petstore-old.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		made, ended := 0, make(chan struct{})
		s := &scheduler{every: time.Hour, dir: dir, keep: 2, now: time.Now, log: slog.New(slog.DiscardHandler),
			backup: func(_ context.Context, path string) error {
				made++
				return os.WriteFile(path, nil, 0o600)
			}}
		go func() {
			defer close(ended)
			s.run(ctx)
		}()
		time.Sleep(150 * time.Minute) // of the bubble's clock: at 0, 1 and 2 hours
		cancel()
		<-ended
		if made != 3 {
			t.Errorf("%d backups were made, want 3", made)
		}
	})
	want := []string{"notes.txt", "petstore-20000101T010000Z.db", "petstore-20000101T020000Z.db", "petstore-old.db"}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
}

// FuzzBackupName checks that only what the scheduler would name so is taken for its backup: it is removed some day.
func FuzzBackupName(f *testing.F) {
	for _, seed := range []string{"petstore-20260301T120000Z.db", "petstore-20260301T120000.5Z.db", "petstore-20260230T120000Z.db", "petstore-.db", "petstore-20260301T120000Z.db.partial", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if at, ok := madeAt(name); ok && backupPrefix+at.UTC().Format(backupLayout)+backupSuffix != name {
			t.Errorf("madeAt(%q) = %v, whose backup has another name", name, at)
		}
	})
}

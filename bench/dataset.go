package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A dataset is a database with one workspace to work in.
type dataset struct {
	path    string
	pets    int    // with the ids from 1 on, all with stock that no run can use up
	key     string // of a workspace whose limits are out of reach
	spent   string // of a workspace that has one request a day
	unknown string // a key with a good checksum that this database does not have
}

const (
	quota        = 1_000_000_000 // the greatest that a plan can have
	stock        = 1_000_000_000 // the greatest that a pet can have
	categories   = 10
	ordersPerPet = 3 // of a dataset with orders: two sales, and one that is open
)

// newDataset makes a database with so many pets, and with their orders if asked to, by the commands that users have.
func (b *bench) newDataset(ctx context.Context, name string, pets int, orders bool) (*dataset, error) {
	d := &dataset{path: filepath.Join(b.dir, name), pets: pets}
	for _, w := range []struct {
		key      *string
		db, name string
		quota    int
	}{{&d.key, d.path, "busy", quota}, {&d.spent, d.path, "spent", 1}, {&d.unknown, filepath.Join(b.dir, "another-"+name), "stranger", 1}} {
		var err error
		if *w.key, err = b.newWorkspace(ctx, w.db, w.name, w.quota); err != nil {
			return nil, err
		}
	}
	lines, write := io.Pipe()
	go func() { write.CloseWithError(writePets(write, pets, orders, time.Now())) }()
	_, err := b.petstore(ctx, lines, "import", "busy", "-", "--format", "ndjson", "--db", d.path)
	return d, err
}

// newWorkspace makes a workspace and returns a key to it, made with the flags.
func (b *bench) newWorkspace(ctx context.Context, db, name string, quota int, flags ...string) (string, error) {
	limit := fmt.Sprint(quota)
	if _, err := b.petstore(ctx, nil, "workspace", "create", name, "--plan", "enterprise", "--per-minute", limit, "--per-day", limit, "--db", db); err != nil {
		return "", err
	}
	out, err := b.petstore(ctx, nil, append([]string{"key", "create", name, "--db", db, "-o", "json"}, flags...)...)
	if err != nil {
		return "", err
	}
	var key struct{ Key string }
	if err := json.Unmarshal(out, &key); err != nil || key.Key == "" {
		return "", fmt.Errorf("petstore key create printed %.200q: %w", out, err)
	}
	return key.Key, nil
}

// petstore runs a command of the program on both cores and returns what it prints.
func (b *bench) petstore(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = in, &out, &said, cleanEnv()
	if err := startOn(cmd, serverCore, loadCore); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("petstore %s: %w: %.2000s", args[0], err, said.Bytes())
	}
	return out.Bytes(), nil
}

// writePets writes what "petstore import" reads: every tenth pet is pending, and one has the rare name.
func writePets(to io.Writer, pets int, orders bool, now time.Time) error {
	w := bufio.NewWriterSize(to, 1<<16)
	fmt.Fprintln(w, `{"type":"petstore","version":1}`)
	for i := 1; i <= categories; i++ {
		fmt.Fprintf(w, `{"type":"category","id":%d,"name":"Kind %d"}`+"\n", i, i)
	}
	names := newNamer()
	for id := 1; id <= pets; id++ {
		name, status, left := names.name(id), "available", stock
		if id == pets*2/3 {
			name = rareName
		}
		if id%10 == 3 {
			status = "pending"
		}
		if orders {
			left -= ordersPerPet
		}
		fmt.Fprintf(w, `{"type":"pet","id":%d,"name":%q,"categoryId":%d,"status":%q,"quantity":%d}`+"\n", id, name, 1+id%categories, status, left)
		if orders {
			writeOrders(w, id, now.Add(time.Duration(id)*time.Millisecond))
		}
	}
	return w.Flush()
}

func writeOrders(w io.Writer, pet int, shipped time.Time) {
	first := (pet-1)*ordersPerPet + 1
	for id := first; id < first+ordersPerPet-1; id++ {
		fmt.Fprintf(w, `{"type":"order","id":%d,"petId":%d,"quantity":1,"shipDate":%q,"complete":true}`+"\n", id, pet, shipped.UTC().Format(time.RFC3339Nano))
	}
	fmt.Fprintf(w, `{"type":"order","id":%d,"petId":%d,"quantity":1,"complete":false}`+"\n", first+ordersPerPet-1, pet)
}

func fileMiB(path string) (float64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return mib(info.Size()), nil
}

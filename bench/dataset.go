package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/petstore/internal/store/postgres/postgrestest"
)

// A dataset is a database with one workspace to work in.
type dataset struct {
	db      string // a file or a URL
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
func (b *bench) newDataset(ctx context.Context, db string, pets int, orders bool) (*dataset, error) {
	d := &dataset{db: db, pets: pets}
	another, err := os.MkdirTemp(b.dir, "another")
	if err != nil {
		return nil, err
	}
	one := []string{"enterprise", "--per-minute=1", "--per-day=1"}
	for _, w := range []struct {
		key      *string
		db, name string
		plan     []string
	}{{&d.key, d.db, "busy", nil}, {&d.spent, d.db, "spent", one}, {&d.unknown, filepath.Join(another, "petstore.db"), "stranger", nil}} {
		if *w.key, err = b.newWorkspace(w.db, w.name, w.plan); err != nil {
			return nil, err
		}
	}
	lines, write := io.Pipe()
	go func() { write.CloseWithError(writePets(write, pets, orders, time.Now())) }()
	cmd := exec.CommandContext(ctx, string(b.binary), "import", "busy", "-", "--format", "ndjson", "--db", d.db)
	cmd.Stdin, cmd.Env = lines, environment()
	return d, runOnBoth(cmd)
}

// newWorkspace makes a workspace, whose limits are out of reach unless a plan says so, and returns a key to it, made
// with the flags.
func (b *bench) newWorkspace(db, name string, plan []string, flags ...string) (string, error) {
	if err := b.binary.NewWorkspace(b.dir, name, append(plan, "--db="+db)...); err != nil {
		return "", err
	}
	key, err := b.binary.NewKey(b.dir, name, append(flags, "--db="+db)...)
	return key.Key, err
}

// writePets writes what "petstore import" reads: every tenth pet is pending, and one has the rare name.
func writePets(to io.Writer, pets int, orders bool, now time.Time) error {
	w := bufio.NewWriterSize(to, 1<<16)
	fmt.Fprintln(w, `{"type":"petstore","version":1}`)
	for i := 1; i <= categories; i++ {
		fmt.Fprintf(w, `{"type":"category","id":%d,"name":"Kind %d"}`+"\n", i, i)
	}
	for id := 1; id <= pets; id++ {
		name, status, left := petName(id), "available", stock
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

// postgresDatabase starts PostgreSQL on the server's core and returns the URL of an empty database.
func (b *bench) postgresDatabase(ctx context.Context) (string, error) {
	var server *postgrestest.Server
	err := onCores(func() (err error) {
		server, err = postgrestest.Open()
		return err
	}, serverCore)
	if err != nil {
		return "", err
	}
	b.atEnd(server.Close)
	name, err := server.Create(ctx, "")
	return server.URL(name), err
}

// file returns the path of a file of the run.
func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

func fileMiB(path string) (float64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return mib(info.Size()), nil
}

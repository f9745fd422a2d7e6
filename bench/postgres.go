package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/postgres"
	"example.com/petstore/internal/postgres/postgrestest"
	"example.com/petstore/internal/processtest"
)

// The service on PostgreSQL beside what bounds it: a read of one pet through pgx behind net/http, with nothing else, and
// pgbench placing orders by one statement, a transaction each. The server and the bare one have one core, the callers
// and pgbench the other, PostgreSQL both.

const (
	postgresPets    = 10_000
	postgresCallers = 64
)

// A postgresBench is what the rows are measured on.
type postgresBench struct {
	*settings
	dir    string
	url    string // of the database
	cancel context.CancelFunc
	server *exec.Cmd // of PostgreSQL
	shop   *shop
	id     int64 // of the workspace
	ours   *process
	bare   *process
	tables []*contestRounds
}

// contestRounds is a row: what both sides did in each round, a second.
type contestRounds struct {
	name, theirName string
	ours, theirs    []float64
	goal            float64
}

func onPostgres(ctx context.Context, s *settings) (err error) {
	b := &postgresBench{settings: s}
	if b.dir, err = os.MkdirTemp(s.dir, "petstore-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	ctx, b.cancel = context.WithCancel(ctx)
	defer b.cancel()
	if err := b.startPostgres(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stopPostgres()) }()
	if err := b.fill(ctx); err != nil {
		return err
	}
	if err := b.startBoth(ctx); err != nil {
		return err
	}
	err = b.measure(ctx)
	if err = errors.Join(err, b.ours.stop(), b.bare.stop()); err != nil {
		return err
	}
	b.table().text(os.Stdout)
	return nil
}

// startPostgres has a process of its own run the server, on both cores.
func (b *postgresBench) startPostgres(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b.server = exec.CommandContext(ctx, self, "child", "postgres")
	b.server.Cancel = func() error { return b.server.Process.Signal(os.Interrupt) }
	b.server.Stderr = os.Stderr
	out, err := b.server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := startOn(b.server, serverCore, loadCore); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return errors.Join(errors.New("PostgreSQL did not start"), b.stopPostgres())
	}
	b.url = strings.TrimSpace(line)
	return nil
}

func (b *postgresBench) stopPostgres() error {
	b.cancel()
	err := b.server.Wait()
	if exit, yes := errors.AsType[*exec.ExitError](err); errors.Is(err, context.Canceled) || yes && exit.ExitCode() <= 0 {
		return nil
	}
	return err
}

// servePostgres runs a server with the durability that users have, until the
// process is interrupted.
func servePostgres(ctx context.Context, _ []string) error {
	server, err := postgrestest.Open("shared_buffers = 256MB", "max_wal_size = 4GB")
	if err != nil {
		return err
	}
	fmt.Println(server.URL("postgres"))
	<-ctx.Done()
	return server.Close()
}

// fill makes the shop.
func (b *postgresBench) fill(ctx context.Context) (err error) {
	say("filling PostgreSQL with %d pets", postgresPets)
	db, err := postgres.Open(ctx, b.url, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	quota := access.Quota{PerMinute: access.MaxQuota, PerDay: access.MaxQuota}
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: "busy", Plan: access.Enterprise, Quota: quota, CreatedAt: time.Now()}, "bench")
	if err != nil {
		return err
	}
	secret, prefix := access.Mint()
	b.id, b.shop = w.ID, &shop{pets: postgresPets, key: secret}
	if err := db.CreateKey(ctx, access.Key{
		ID: access.MintID(), WorkspaceID: w.ID, Name: "bench", Prefix: prefix, Hash: access.HashOf(secret),
		Scopes: access.Read | access.Write, CreatedAt: time.Now(),
	}, "bench"); err != nil {
		return err
	}
	kind := &petstore.Category{Name: "Dogs"}
	units := []petstore.Unit{{Category: kind}}
	for i := range postgresPets {
		a := &petstore.Animal{Pet: petstore.Pet{Name: fmt.Sprintf("Beagle %07d", i), Status: petstore.Available}, Quantity: stock}
		units = append(units, petstore.Unit{Animal: a, In: kind})
	}
	for i := range units {
		if _, err := units[i].Check(petstore.At(time.Now())); err != nil {
			return err
		}
	}
	_, err = db.Load(ctx, w.ID, &petstore.Batch{Units: units})
	return err
}

// startBoth starts the service and the bare server.
func (b *postgresBench) startBoth(ctx context.Context) error {
	binary, err := build(ctx, b.settings, b.dir)
	if err != nil {
		return err
	}
	if b.ours, err = b.startOurs(ctx, binary); err != nil {
		return err
	}
	b.bare, err = b.startBare(ctx)
	return err
}

func (b *postgresBench) startOurs(ctx context.Context, binary string) (*process, error) {
	var addrs [2]string
	for i := range addrs {
		var err error
		if addrs[i], err = processtest.FreeAddr(); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(b.dir, "server.log"))
	if err != nil {
		return nil, err
	}
	p := &process{addr: addrs[0], ops: addrs[1], log: log}
	p.cmd = exec.CommandContext(ctx, binary, "serve", "--addr", p.addr, "--ops-addr", p.ops, "--db", b.url)
	p.cmd.Dir, p.cmd.Stderr, p.cmd.Env = b.dir, log, append(cleanEnv(), "GOMAXPROCS=1")
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, p.waitReady(ctx)
}

func (b *postgresBench) startBare(ctx context.Context) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := processtest.FreeAddr()
	if err != nil {
		return nil, err
	}
	p := &process{addr: addr, ops: addr}
	p.cmd = exec.CommandContext(ctx, self, "child", "bare", addr, b.url, fmt.Sprint(b.id))
	p.cmd.Stderr, p.cmd.Env = os.Stderr, append(cleanEnv(), "GOMAXPROCS=1")
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, p.waitReady(ctx)
}

func (b *postgresBench) table() table {
	t := table{{"on PostgreSQL", "ours, a second", "beside", "theirs, a second", "ratio", "goal"}}
	for _, c := range b.tables {
		var ratio []float64
		for i := range c.ours {
			ratio = append(ratio, c.ours[i]/c.theirs[i])
		}
		t.add(c.name, spreadOf(c.ours).ranged("%.0f"), c.theirName, spreadOf(c.theirs).ranged("%.0f"),
			spreadOf(ratio).ranged("%.2f"), fmt.Sprintf("%.1f", c.goal))
	}
	return t
}

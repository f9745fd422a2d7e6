package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/postgres"
	"example.com/petstore/internal/postgres/postgrestest"
)

// serveBare answers GET /pets/{id} by one read through pgx, as one would write it who needs nothing else. Its arguments
// are an address, the database's URL and the workspace.
func serveBare(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("child bare ADDR URL WORKSPACE")
	}
	c, err := pgxpool.ParseConfig(args[1])
	if err != nil {
		return err
	}
	c.MaxConns = 8 // as the service has for reading
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return err
	}
	defer pool.Close()
	workspace, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /pets/{id}", func(w http.ResponseWriter, r *http.Request) {
		var pet struct {
			ID         int64  `json:"id"`
			Name       string `json:"name"`
			CategoryID int64  `json:"categoryId"`
			Status     string `json:"status"`
		}
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err == nil {
			err = pool.QueryRow(r.Context(), "SELECT id, name, category, status FROM petstore.pets WHERE workspace = $1 AND id = $2", workspace, id).
				Scan(&pet.ID, &pet.Name, &pet.CategoryID, &pet.Status)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if text, err := json.Marshal(&pet); err == nil {
			w.Write(text)
		}
	})
	return serveUntil(ctx, args[0], mux)
}

// serveUntil serves h until ctx ends.
func serveUntil(ctx context.Context, addr string, h http.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// measure has the sides take turns.
func (b *postgresBench) measure(ctx context.Context) error {
	read := &contestRounds{name: "GET one", theirName: "pgx behind net/http", goal: 0.8}
	b.tables = append(b.tables, read)
	get := &row{name: "get", callers: readers, want: 200, request: getPet}
	for range b.rounds {
		for _, side := range []struct {
			p  *process
			to *[]float64
		}{{b.ours, &read.ours}, {b.bare, &read.theirs}} {
			s, err := load(ctx, side.p, &world{shop: b.shop}, get, b.round)
			if err != nil {
				return err
			}
			*side.to = append(*side.to, s.perSecond())
		}
	}
	for _, hot := range []bool{false, true} {
		if err := b.measureOrders(ctx, hot); err != nil {
			return err
		}
	}
	return nil
}

// measureOrders places orders on all pets or on one: through the store, over HTTP, and by pgbench.
func (b *postgresBench) measureOrders(ctx context.Context, hot bool) error {
	name, pets, goal, request := "orders", int64(postgresPets), 2.0, orderAny
	if hot {
		name, pets, goal, request = "orders of one pet", 1, 8.0, orderHot
	}
	inStore := &contestRounds{name: name + ", the store", theirName: "pgbench", goal: goal}
	overHTTP := &contestRounds{name: name + ", over HTTP", theirName: "pgbench", goal: goal}
	b.tables = append(b.tables, inStore, overHTTP)
	script, err := b.orderScript(ctx, pets)
	if err != nil {
		return err
	}
	for range b.rounds {
		store, err := b.placeOrders(ctx, pets)
		if err != nil {
			return err
		}
		s, err := load(ctx, b.ours, &world{shop: b.shop}, &row{name: name, callers: postgresCallers, want: 201, request: request}, b.round)
		if err != nil {
			return err
		}
		theirs, err := b.pgbench(ctx, script)
		if err != nil {
			return err
		}
		inStore.ours, inStore.theirs = append(inStore.ours, store), append(inStore.theirs, theirs)
		overHTTP.ours, overHTTP.theirs = append(overHTTP.ours, s.perSecond()), append(overHTTP.theirs, theirs)
	}
	return nil
}

// placeOrders has callers place orders through the store, and returns how many a second became durable.
func (b *postgresBench) placeOrders(ctx context.Context, pets int64) (perSecond float64, err error) {
	db, err := postgres.Open(ctx, b.url, postgres.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := petstore.NewService(db)
	place := func() error {
		_, err := s.CreateOrder(ctx, b.id, petstore.NewOrder{PetID: 1 + rand.Int64N(pets), Quantity: 1}, nil)
		return err
	}
	if _, err := callFor(b.round/4, place); err != nil { // until it is connected
		return 0, err
	}
	began := time.Now()
	n, err := callFor(b.round, place)
	return float64(n) / time.Since(began).Seconds(), err
}

// callFor has the callers call f again and again for a time, and returns how often it succeeded.
func callFor(long time.Duration, f func() error) (int64, error) {
	var (
		all    sync.WaitGroup
		done   atomic.Int64
		failed = make(chan error, postgresCallers)
		end    = time.Now().Add(long)
	)
	for range postgresCallers {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := f(); err != nil {
					failed <- err
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	close(failed)
	return done.Load(), <-failed
}

func (b *postgresBench) orderScript(ctx context.Context, pets int64) (string, error) {
	c, err := pgx.Connect(ctx, b.url)
	if err != nil {
		return "", err
	}
	_, err = c.Exec(ctx, "CREATE SEQUENCE IF NOT EXISTS order_ids START 1000000000000")
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, fmt.Sprintf("order%d.sql", pets))
	return path, os.WriteFile(path, fmt.Appendf(nil, postgrestest.OrderScript, pets, b.id), 0o600)
}

// pgbenchRate is about how many transactions a second are expected of pgbench.
const pgbenchRate = 6000

// pgbench runs the script for about a round with as many clients, and returns the transactions a second.
func (b *postgresBench) pgbench(ctx context.Context, script string) (float64, error) {
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(programs) == 0 {
		return 0, errors.New("pgbench is not installed (Debian: postgresql-15)")
	}
	config, err := pgx.ParseConfig(b.url)
	if err != nil {
		return 0, err
	}
	each := max(20, int(b.round.Seconds()*pgbenchRate/postgresCallers)) // by number: a time would count the connecting
	cmd := exec.CommandContext(ctx, slices.Max(programs), "-n", "-M", "prepared", "-c", strconv.Itoa(postgresCallers), "-j", "1",
		"-t", strconv.Itoa(each), "-h", config.Host, "-U", config.User, "-f", script, config.Database)
	out, err := cmd.CombinedOutput() // on the callers' core, as this program
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	tps := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out)
	if tps == nil {
		return 0, fmt.Errorf("pgbench said %s", out)
	}
	return strconv.ParseFloat(string(tps[1]), 64)
}

// Bench measures the service beside what bounds it: a bare net/http server that
// answers constants (the floor), the disk's rate of durable appends, and a log
// in memory with grouped syncs (the bound). All run as processes of their own,
// the measured one on core 0 and the load on core 1, in turns, so that their
// ratios say something on a busy machine too.
//
// Usage, from the root of the repository:
//
//	go run ./bench [-short] [-rows REGEXP]   print the table; write bench/RESULTS.md and bench/results.json
//	go run ./bench -check [-short]           fail if a ratio lost more than a tenth since results.json
//	go run ./bench -redis [-short]           print the limiter in Redis beside redis-benchmark
//	go run ./bench -postgres [-short]        print only the service on PostgreSQL beside pgx and pgbench
//	go run ./bench -peers [-short]           print only the service beside other servers of pets
//	go run ./bench -overload                 print only what becomes of several times its capacity
//	go run ./bench -scale [-pets N]          a shop of ten million pets beside one of ten thousand; kept in the results
//	go run ./bench -where                    profile some rows and write docs/performance.md's table and picture
//	go run ./bench -profile ROW              write profiles of the server under a row, and count its system calls
//
// The server has everything on: keys, limits, headers, metrics and its log,
// which goes to a file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are what a run is asked to do.
type settings struct {
	dir                           string // for the databases; removed afterwards
	binary                        string // the server, or "" to build it
	rows                          *regexp.Regexp
	check                         bool
	redis, postgres               bool
	profile                       string
	peers, overload, scale, where bool
	grown                         int // pets of the large shop

	rounds  int
	round   time.Duration // how long each side is measured in a round
	pets    int           // in the database of the rows
	scales  []int         // databases for memory and start
	starts  int           // how often a start is measured
	results string        // the folder of the results
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "child" {
		return runChild(ctx, args[1:])
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	if err := pinSelf(loadCore); err != nil {
		return fmt.Errorf("pinning: %w", err)
	}
	switch {
	case s.profile != "":
		return profile(ctx, s)
	case s.check:
		return check(ctx, s)
	case s.redis:
		return limiterOnRedis(ctx, s)
	case s.postgres:
		return onPostgres(ctx, s)
	}
	if part := s.part(); part != nil {
		return part(ctx, s)
	}
	r, err := measure(ctx, s)
	if err != nil {
		return err
	}
	r.print(os.Stdout)
	if s.rows.String() != "" {
		return nil // a part must not replace the whole
	}
	return r.save(s.results)
}

func parse(args []string) (*settings, error) {
	s := &settings{
		rounds: 7, round: time.Second, pets: 300_000,
		scales: []int{0, 100_000, 1_000_000}, starts: 9, results: "bench",
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	short := flags.Bool("short", false, "measure for half a minute only, and nothing of a million pets")
	rows := flags.String("rows", "", "measure only the rows that match `REGEXP`, and write no results")
	flags.StringVar(&s.dir, "dir", "", "make the databases below `DIR`, on the disk to be measured")
	flags.StringVar(&s.binary, "binary", "", "measure the server in `FILE` instead of building it")
	flags.BoolVar(&s.check, "check", false, "compare with the saved results instead of replacing them")
	flags.BoolVar(&s.redis, "redis", false, "measure only the limiter in Redis, beside redis-benchmark")
	flags.BoolVar(&s.postgres, "postgres", false, "measure only the service on PostgreSQL, beside pgx behind net/http and pgbench")
	s.partFlags(flags)
	flags.StringVar(&s.profile, "profile", "", "profile the server under `ROW`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if s.grown <= 0 || s.grown%10 != 0 {
		return nil, fmt.Errorf("-pets %d: has to be a multiple of ten", s.grown)
	}
	if *short {
		s.rounds, s.round, s.scales, s.starts = 3, 400*time.Millisecond, []int{0, 100_000}, 5
	}
	var err error
	s.rows, err = regexp.Compile(*rows)
	return s, err
}

// runChild is the program in the role of another process.
func runChild(ctx context.Context, args []string) error {
	roles := map[string]func(context.Context, []string) error{
		"floor": serveFloor,
		"disk":  measureDisk,
		"alone": measureAlone,

		"postgres": servePostgres,
		"bare":     serveBare,
	}
	if len(args) == 0 || roles[args[0]] == nil {
		return errors.New("child: floor, disk, alone, postgres or bare")
	}
	return roles[args[0]](ctx, args[1:])
}

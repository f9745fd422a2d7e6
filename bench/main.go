// Bench measures the service beside what bounds it, so that ratios say something on a busy machine too: bare net/http
// (the reference), the disk's rate of durable appends, other servers of pets (the peers) and redis-benchmark. All run
// as processes of their own, in turns, the measured one on core 0 and the load on core 1.
//
// Usage, in this folder (see "make help" for the usual ones):
//
//	go run .                          measure everything that parts() does not keep apart; write RESULTS.md
//	go run . -short                   the same in short, to try it; writes nothing
//	go run . -part NAME [-short]      measure only one part, which parts() names; writes nothing
//	go run . -rows REGEXP [-short]    measure some rows; with -profile FILE a CPU profile too; writes nothing
//
// The server is used from outside, by its command line and its listeners, and has everything on: keys, limits, header
// fields, metrics, and its log, which goes to a file. The databases are made below TMPDIR, on the disk to be measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
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

// A part can be measured alone.
type part struct {
	name    string
	measure func(*bench, context.Context) error
	apart   bool // only if it is asked for
}

// parts returns all parts, in the order of the report.
func parts() []part {
	return []part{
		{"rows", (*bench).measureRows, false},
		{"peers", (*bench).measurePeers, false},
		{"feed", (*bench).measureFeed, false},
		{"webhooks", (*bench).measureWebhooks, false},
		{"memory", (*bench).measureMemory, false},
		{"redis", (*bench).measureRedis, false},
		{"scale", (*bench).measureScale, true}, // a million pets and their orders
		{"scale-postgresql", (*bench).measurePostgresScale, true},
		{"sandboxes", (*bench).measureSandboxes, true}, // resets, and a thousand visitors
		{"sandboxes-postgresql", (*bench).measurePostgresSandboxes, true},
		{"growth", (*bench).measureGrowth, true}, // nodes that share PostgreSQL, beside a simulation of them
	}
}

// settings are what a run is asked to do.
type settings struct {
	binary  string // the server, or "" to build it
	rows    *regexp.Regexp
	profile string // a file for the CPU profile of the server, or ""
	part    string // "" for all that are not apart
	short   bool

	rounds    int
	round     time.Duration // how long each side is measured in a round
	pets      int           // in the database of the rows
	manyPets  int           // in the database of memory and search
	scalePets int           // in the larger database of scale
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "reference" { // this program as another process
		return serveReference(args[1:])
	}
	if len(args) == 3 && args[0] == "visitors" {
		return serveVisitors(args[1], args[2])
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	if err := pinSelf(loadCore); err != nil {
		return fmt.Errorf("pinning: %w", err)
	}
	return measure(ctx, s)
}

func parse(args []string) (*settings, error) {
	s := &settings{rounds: 7, round: time.Second, pets: 300_000, manyPets: 1_000_000}
	names := make([]string, len(parts()))
	for i, p := range parts() {
		names[i] = p.name
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&s.short, "short", false, "measure for a short time only, with 20,000 pets and no million; the part scale goes by -pets")
	pattern := flags.String("rows", "", "measure only the rows that match `REGEXP`")
	flags.StringVar(&s.profile, "profile", "", "with -rows: write the server's CPU profile under the last of them to `FILE`")
	flags.StringVar(&s.binary, "binary", "", "measure the server in `FILE` instead of building it")
	flags.IntVar(&s.scalePets, "pets", 1_000_000, "`N` pets in the database of the part scale, with three orders each")
	flags.StringVar(&s.part, "part", "", "measure only `PART`: "+strings.Join(names, ", "))
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if s.short {
		s.rounds, s.round, s.pets, s.manyPets = 3, 300*time.Millisecond, 20_000, 50_000
	}
	if *pattern != "" && s.part == "" {
		s.part = "rows"
	}
	var err error
	if s.rows, err = regexp.Compile(*pattern); err != nil {
		return nil, fmt.Errorf("-rows: %w", err)
	}
	var known []string
	for _, r := range rows() {
		known = append(known, r.name)
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unknown argument %q", flags.Arg(0))
	case !slices.ContainsFunc(known, s.rows.MatchString):
		return nil, fmt.Errorf("-rows %s: matches none of %s", *pattern, strings.Join(known, "; "))
	case s.part != "" && !slices.Contains(names, s.part):
		return nil, fmt.Errorf("-part %s: one of %s", s.part, strings.Join(names, ", "))
	case s.scalePets < 1000:
		return nil, fmt.Errorf("-pets %d: at least 1000", s.scalePets)
	case s.profile != "" && *pattern == "":
		return nil, errors.New("-profile needs -rows")
	}
	return s, nil
}

// Bench measures the service beside what bounds it, so that ratios say something on a busy machine too: bare net/http
// (the reference), the disk's rate of durable appends, other servers of pets (the peers) and redis-benchmark. All run
// as processes of their own, in turns, the measured one on core 0 and the load on core 1.
//
// Usage, in this folder (see "make help" for the usual ones):
//
//	go run .                          measure everything but -scale; write RESULTS.md and results.json
//	go run . -short                   the same in short, to try it; writes nothing
//	go run . -rows REGEXP [-short]    measure some rows and write nothing; with -profile FILE a CPU profile too
//	go run . -check [-short]          fail if a ratio lost more than a tenth since results.json
//	go run . -part NAME               measure only rows, feed, webhooks, peers, memory or redis, and write nothing
//	go run . -scale [-pets N]         ten million pets beside ten thousand; writes nothing
//	go run . -growth [-short]         one, two and three nodes on PostgreSQL beside a simulation of them; writes nothing
//
// The server is used from outside, by its command line and its listeners, and has everything on: keys, limits, header
// fields, metrics, and its log, which goes to a file.
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

// parts are what -part takes.
var parts = []string{"rows", "feed", "webhooks", "peers", "memory", "redis"}

// settings are what a run is asked to do.
type settings struct {
	dir     string // for the databases; removed afterwards
	binary  string // the server, or "" to build it
	rows    *regexp.Regexp
	profile string // a file for the CPU profile of the server, or ""
	part    string // "" for all
	check   bool
	scale   bool
	growth  bool
	short   bool

	rounds    int
	round     time.Duration // how long each side is measured in a round
	pets      int           // in the database of the rows
	manyPets  int           // in the database of memory and search
	scalePets int           // in the larger database of -scale
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
	case s.check:
		return check(ctx, s)
	case s.scale:
		return measureScale(ctx, s)
	case s.growth:
		return measureGrowth(ctx, s)
	}
	r, err := measure(ctx, s)
	if err != nil {
		return err
	}
	report(os.Stdout, r.sections...)
	if s.partial() || s.short {
		return nil // it must not replace the whole
	}
	return r.save(".")
}

func parse(args []string) (*settings, error) {
	s := &settings{rounds: 7, round: time.Second, pets: 300_000, manyPets: 1_000_000}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&s.short, "short", false, "measure for a short time only, with 20,000 pets and no million")
	rows := flags.String("rows", "", "measure only the rows that match `REGEXP`")
	flags.StringVar(&s.profile, "profile", "", "with -rows: write the server's CPU profile under the last of them to `FILE`")
	flags.StringVar(&s.dir, "dir", "", "make the databases below `DIR`, on the disk to be measured")
	flags.StringVar(&s.binary, "binary", "", "measure the server in `FILE` instead of building it")
	flags.IntVar(&s.scalePets, "pets", 10_000_000, "`N` pets in the larger database of -scale, with three orders each")
	flags.StringVar(&s.part, "part", "", "measure only `PART`: "+strings.Join(parts, ", "))
	flags.BoolVar(&s.check, "check", false, "compare with the saved results instead of replacing them")
	flags.BoolVar(&s.growth, "growth", false, "measure only nodes that share PostgreSQL, beside a simulation of them")
	flags.BoolVar(&s.scale, "scale", false, "measure only ten million pets beside ten thousand")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if s.short {
		s.rounds, s.round, s.pets, s.manyPets = 3, 300*time.Millisecond, 20_000, 50_000
	}
	var err error
	if s.rows, err = regexp.Compile(*rows); err != nil {
		return nil, fmt.Errorf("-rows: %w", err)
	}
	return s, s.valid(flags)
}

func (s *settings) valid(flags *flag.FlagSet) error {
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	case s.part != "" && !slices.Contains(parts, s.part):
		return fmt.Errorf("-part %s: one of %s", s.part, strings.Join(parts, ", "))
	case s.scalePets < 1000:
		return fmt.Errorf("-pets %d: at least 1000", s.scalePets)
	case s.profile != "" && s.rows.String() == "":
		return errors.New("-profile needs -rows")
	}
	return nil
}

// wants reports whether a part is to be measured.
func (s *settings) wants(part string) bool {
	switch {
	case s.part != "":
		return part == s.part
	case s.check || s.rows.String() != "":
		return part == "rows" // the others are no ratios of ours alone
	}
	return true
}

// partial reports whether less than the whole is measured.
func (s *settings) partial() bool { return !s.wants("rows") || !s.wants("peers") }

// runChild is the program in the role of another process.
func runChild(ctx context.Context, args []string) error {
	roles := map[string]func(context.Context, []string) error{"reference": serveReference, "disk": measureDisk}
	if len(args) == 0 || roles[args[0]] == nil {
		return errors.New("child: reference or disk")
	}
	return roles[args[0]](ctx, args[1:])
}

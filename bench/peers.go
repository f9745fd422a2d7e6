package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"example.com/petstore/internal/processtest"
)

// A peer is another server of pets, with neither keys nor limits nor a
// database, written as its documentation would have it; see the folder peers.
type peer struct {
	name    string
	command []string // before the host and the port
}

// peerPets is how many pets a peer has.
const peerPets = 1000

// peersDir is where their sources are, seen from here.
const peersDir = "peers"

// peers returns every peer, in the order of the table.
func (b *bench) peers() []peer {
	built := filepath.Join(b.dir, peersDir)
	return []peer{
		{"oapi-codegen, strict server", []string{filepath.Join(built, "oapicodegen")}},
		{"ogen", []string{filepath.Join(built, "ogen")}},
		{"huma on chi", []string{filepath.Join(built, "huma")}},
		{"Fastify", []string{"node", filepath.Join(peersDir, "npm", "fastify.js")}},
	}
}

// measurePeers has the reference, the service and every peer take turns.
func (b *bench) measurePeers(ctx context.Context) (s section, err error) {
	say("generating and building the peers")
	if err := b.buildPeers(ctx); err != nil {
		return s, err
	}
	if err := b.serve(ctx, false); err != nil {
		return s, err
	}
	sides, err := b.startPeers(ctx)
	defer func() {
		for _, s := range sides[min(2, len(sides)):] {
			s.process.Kill()
		}
	}()
	if err != nil {
		return s, err
	}
	s = section{title: "Beside other servers", words: fmt.Sprintf(`Other servers of pets, written as their documentation would have it, with %d pets in memory, without keys, limits, a log or
anything durable, in turns with this service, which has all of these. A POST to this service is on the disk when it is answered.`, peerPets),
		table: table{"request | server | requests/s | of net/http | CPU µs | p50 ms | p99 ms | this service is faster by"}}
	for _, c := range []struct {
		row   string
		least float64 // of the fastest peer, whose POST is in memory
	}{{"get", 1}, {"list", 1.3}, {"create-pet", 0}} {
		r := findRow(rows(), c.row)
		say("%s beside the peers", r.name)
		if err := mirror(ctx, r, b.server, b.reference, b.workload); err != nil {
			return s, err
		}
		if err := measureSides(ctx, r, sides, max(3, b.rounds-2), b.round); err != nil {
			return s, err
		}
		var all []figure
		for _, side := range sides {
			all = append(all, figureOf(side.name, side.samples, sides[0].samples))
		}
		s.addContest(r, c.least, all)
	}
	return s, nil
}

// addContest adds a row of all: the reference, the service and the peers.
func (s *section) addContest(r *row, least float64, all []figure) {
	ours, best := all[1].PerSecond.Median, 0.0
	for i, f := range all {
		faster := ""
		if i != 1 {
			faster = fmt.Sprintf("× %.2f", ours/f.PerSecond.Median)
		}
		if i > 1 {
			best = max(best, f.PerSecond.Median)
		}
		s.table.add("%s | %s | %s | %s | %.1f | %.2f | %.2f | %s", r.words, f.Name, f.PerSecond.ranged("%.0f"), f.OfReference.ranged("%.2f"),
			f.CPU, f.P50/1000, f.P99/1000, faster)
	}
	if least > 0 {
		s.targets = append(s.targets, target{r.words + ", × the fastest peer", ours / best, least, false})
	}
}

// buildPeers generates and builds those of Go, and installs those of npm unless they are.
func (b *bench) buildPeers(ctx context.Context) error {
	generate := exec.CommandContext(ctx, "go", "generate", "./...")
	generate.Dir = peersDir
	if err := runOnBoth(generate); err != nil {
		return err
	}
	out := filepath.Join(b.dir, "peers") + string(filepath.Separator)
	if err := runOnBoth(exec.CommandContext(ctx, "go", "build", "-C", peersDir, "-o", out, "./...")); err != nil {
		return err
	}
	want, err := os.Stat(peersDir + "/npm/package-lock.json")
	if err != nil {
		return err
	}
	have, err := os.Stat(peersDir + "/npm/node_modules/.package-lock.json")
	if err == nil && !have.ModTime().Before(want.ModTime()) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = peersDir + "/npm"
	return runOnBoth(cmd)
}

// startPeers returns the reference, the service and the peers, which have been
// started; those that were, with an error.
func (b *bench) startPeers(ctx context.Context) ([]*side, error) {
	sides := []*side{{name: "bare net/http", process: b.reference, workload: b.workload}, {name: "this service", process: b.server, workload: b.workload}}
	theirs := &workload{dataset: &dataset{pets: peerPets, key: "none"}, names: newNamer()}
	for _, p := range b.peers() {
		addr, err := processtest.FreeAddr()
		if err != nil {
			return sides, err
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return sides, err
		}
		cmd := exec.CommandContext(ctx, p.command[0], append(p.command[1:], host, port)...)
		cmd.Env = environment("GOMAXPROCS=1", "NODE_ENV=production")
		cmd.Stderr = os.Stderr
		s := &side{name: p.name, process: &process{addr: addr}, workload: theirs}
		if err := s.process.start(cmd); err != nil {
			return sides, fmt.Errorf("%s: %w", p.name, err)
		}
		sides = append(sides, s)
		if err := waitFor(ctx, addr); err != nil {
			return sides, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return sides, nil
}

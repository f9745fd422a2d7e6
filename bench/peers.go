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
func (b *bench) measurePeers(ctx context.Context) error {
	say("generating and building the peers")
	if err := b.buildPeers(ctx); err != nil {
		return err
	}
	d, err := b.newDuel(ctx)
	if err != nil {
		return err
	}
	theirs, err := b.startPeers(ctx)
	if err != nil {
		return err
	}
	sides := append([]*side{&d.reference, &d.ours}, theirs...)
	s := section{title: "Beside other servers", words: fmt.Sprintf(`Other servers of pets, written as their documentation would have it, with %d pets in memory, without keys, limits, a log or
anything durable, in turns with this service, which has all of these. A POST to this service is on the disk when it is answered.`, peerPets),
		table: table{"request | server | requests/s | of net/http | CPU µs | p50 ms | p99 ms | this service is faster by"}}
	for _, c := range []struct {
		row   string
		least float64 // of the fastest peer, whose POST is in memory
	}{{"get", 1}, {"list", 1.3}, {"create-pet", 0}} {
		r := findRow(rows(), c.row)
		say("%s beside the peers", r.name)
		if err := d.mirror(ctx, r); err != nil {
			return err
		}
		if err := measureSides(ctx, r, sides, max(3, b.rounds-2), b.round); err != nil {
			return err
		}
		s.addContest(r, c.least, sides)
	}
	b.add(s)
	return nil
}

// addContest adds a row of all: the reference, the service and the peers.
func (s *section) addContest(r *row, least float64, sides []*side) {
	ours, best := spreadOf(rates(sides[1].samples)).Median, 0.0
	for i, side := range sides {
		f, faster := figureOf(side.samples, sides[0].samples), ""
		if i != 1 {
			faster = fmt.Sprintf("× %.2f", ours/f.perSecond.Median)
		}
		if i > 1 {
			best = max(best, f.perSecond.Median)
		}
		s.table.add("%s | %s | %s | %s | %.1f | %.2f | %.2f | %s", r.words, side.name, f.perSecond.ranged("%.0f"), f.ofReference.ranged("%.2f"),
			f.cpu, f.p50/1000, f.p99/1000, faster)
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

func (b *bench) startPeers(ctx context.Context) (sides []*side, err error) {
	w := &workload{dataset: &dataset{pets: peerPets, key: "none"}, popular: newZipfian(peerPets)}
	for _, p := range b.peers() {
		addr, err := processtest.FreeAddr()
		if err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		started, err := b.start(ctx, addr, p.command[0], append(p.command[1:], host, port)...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		sides = append(sides, &side{name: p.name, process: started, workload: w})
	}
	return sides, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/petstore/internal/processtest"
)

// A peer is another server of pets, with neither keys nor limits nor a
// database, written as its documentation would have it; see bench/peers.
type peer struct {
	name    string
	list    string // what a list of 20 is asked by
	command func(b *bench, host, port string) []string
}

// peerPets is how many pets a peer has.
const peerPets = 1000

// peersDir is where their sources are, seen from the root of the repository.
const peersDir = "bench/peers"

// peers returns every peer, in the order of the table.
func peers() []peer {
	goPeer := func(program string) func(*bench, string, string) []string {
		return func(b *bench, host, port string) []string {
			return []string{filepath.Join(b.dir, "peers", program), net.JoinHostPort(host, port)}
		}
	}
	const modules = peersDir + "/npm/node_modules/"
	return []peer{
		{"oapi-codegen, strict server", "/pets?limit=20", goPeer("oapicodegen")},
		{"ogen", "/pets?limit=20", goPeer("ogen")},
		{"huma on chi", "/pets?limit=20", goPeer("huma")},
		{"Fastify", "/pets?limit=20", func(_ *bench, host, port string) []string {
			return []string{"node", peersDir + "/npm/fastify.js", host, port}
		}},
		{"json-server", "/pets?_limit=20", func(_ *bench, host, port string) []string {
			return []string{"node", peersDir + "/npm/jsonserver.cjs", host, port}
		}},
		{"Prism, mock", "/pets?limit=20", func(_ *bench, host, port string) []string {
			return []string{"node", modules + "@stoplight/prism-cli/dist/index.js", "mock", "--no-multiprocess", "--verboseLevel", "silent",
				"--host", host, "--port", port, peersDir + "/openapi.yaml"}
		}},
	}
}

// A side is one of those who take turns, and what they did.
type side struct {
	name    string
	process *process
	world   *world
	list    string
	samples []*sample
}

// measurePeers has the floor, the service and every peer take turns.
func (b *bench) measurePeers(ctx context.Context) (_ []contest, err error) {
	say("building the peers")
	if err := b.buildPeers(ctx); err != nil {
		return nil, fmt.Errorf("the peers: %w", err)
	}
	sides, err := b.startPeers(ctx)
	defer func() {
		for _, s := range sides[min(2, len(sides)):] {
			err = errors.Join(err, s.process.kill())
		}
	}()
	if err != nil {
		return nil, err
	}
	var all []contest
	for _, r := range rows() {
		if r.name == "get" || r.name == "list" || r.name == "create-pet" {
			c, err := b.contest(ctx, &r, sides)
			if err != nil {
				return nil, err
			}
			all = append(all, *c)
		}
	}
	return all, nil
}

// contest measures one row of all.
func (b *bench) contest(ctx context.Context, r *row, sides []*side) (*contest, error) {
	say("%s beside the peers", r.name)
	if err := b.mirror(ctx, r); err != nil {
		return nil, err
	}
	if err := b.haveTurns(ctx, r, sides, max(3, b.rounds-2), b.round); err != nil {
		return nil, err
	}
	c := &contest{Row: r.name}
	for _, s := range sides {
		rss, _, err := s.process.memory()
		if err != nil {
			return nil, err
		}
		p := pairing{ours: s.samples, floors: sides[0].samples, rss: rss}
		plain := row{name: s.name, callers: r.callers}
		c.Sides = append(c.Sides, p.figure(&plain))
	}
	return c, nil
}

// haveTurns has all sides take turns at a row, and replaces their samples.
func (b *bench) haveTurns(ctx context.Context, r *row, sides []*side, rounds int, long time.Duration) error {
	for _, s := range sides {
		s.samples = nil
	}
	for range rounds {
		for _, s := range sides {
			got, err := b.turn(ctx, r, s, long)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			s.samples = append(s.samples, got)
		}
	}
	return nil
}

// turn has one side do a row, again if it got no turn on a busy machine.
func (b *bench) turn(ctx context.Context, r *row, s *side, long time.Duration) (*sample, error) {
	theirs := *r
	if r.name == "list" && s.list != "" {
		theirs.request = s.requestList
	}
	for range attempts {
		got, err := load(ctx, s.process, s.world, &theirs, long)
		if err != nil || got.requests > 0 {
			return got, err
		}
		long *= 2
	}
	return nil, errors.New("the machine is too busy to measure anything")
}

// buildPeers builds those of Go, and installs those of npm unless they are.
func (b *bench) buildPeers(ctx context.Context) error {
	out := filepath.Join(b.dir, "peers") + string(filepath.Separator)
	if err := runOn(exec.CommandContext(ctx, "go", "build", "-C", peersDir, "-o", out, "./...")); err != nil {
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
	return runOn(cmd)
}

// runOn runs cmd on both cores.
func runOn(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := startOn(cmd, serverCore, loadCore); err != nil {
		return err
	}
	return cmd.Wait()
}

// startPeers returns the floor, the service and the peers, which have been
// started; those that were, with an error.
func (b *bench) startPeers(ctx context.Context) ([]*side, error) {
	sides := []*side{{name: "the floor", process: b.floor, world: b.world}, {name: "this service", process: b.server, world: b.world}}
	theirs := &world{shop: &shop{pets: peerPets, key: "none"}}
	for _, p := range peers() {
		addr, err := processtest.FreeAddr()
		if err != nil {
			return sides, err
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return sides, err
		}
		line := p.command(b, host, port)
		cmd := exec.CommandContext(ctx, line[0], line[1:]...)
		cmd.Env = append(cleanEnv(), "GOMAXPROCS=1", "NODE_ENV=production")
		cmd.Stderr = os.Stderr
		s := &side{name: p.name, process: &process{cmd: cmd, addr: addr}, world: theirs, list: p.list}
		if err := s.process.start(); err != nil {
			return sides, fmt.Errorf("%s: %w", p.name, err)
		}
		sides = append(sides, s)
		if err := waitFor(ctx, addr); err != nil {
			return sides, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return sides, nil
}

package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.uber.org/goleak"

	"example.com/petstore/client"
	"example.com/petstore/internal/cli"
	"example.com/petstore/internal/processtest"
)

// The server under test, which TestMain starts: the real one, on a database of its own.
var (
	serverURL  string
	wide       = make(chan string, 16) // keys, each of a workspace of its own, on a plan that is wide enough
	exampleKey string                  // the key of the examples
)

func TestMain(m *testing.M) {
	code := run(m)
	if err := goleak.Find(); err != nil && code == 0 {
		code = fail(err)
	}
	os.Exit(code)
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "petstore-client-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	db := filepath.Join(dir, "petstore.db")
	for i := range cap(wide) + 1 {
		key, err := workspace(db, fmt.Sprintf("shop-%d", i), "enterprise", "--per-minute", "100000", "--per-day", "1000000")
		if err != nil {
			return fail(err)
		}
		if i == 0 {
			exampleKey = key
			continue
		}
		wide <- key
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	defer func() { stop(); <-ended }()
	if serverURL, err = serve(ctx, ended, db); err != nil {
		return fail(err)
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// petstore runs a command and returns what it printed.
func petstore(args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	if code := cli.Main(context.Background(), args, nil, &out, &errs, func(string) string { return "" }); code != 0 {
		return nil, fmt.Errorf("petstore %v: %s", args, errs.String())
	}
	return out.Bytes(), nil
}

// workspace makes a workspace and returns a key of it.
func workspace(db, name, plan string, quota ...string) (string, error) {
	if _, err := petstore(append([]string{"workspace", "create", name, "--plan", plan, "--db", db}, quota...)...); err != nil {
		return "", err
	}
	out, err := petstore("key", "create", name, "--db", db, "-o", "json")
	if err != nil {
		return "", err
	}
	var made struct{ Key string }
	return made.Key, json.Unmarshal(out, &made)
}

// serve runs the server until ctx ends, closes ended then, and returns its address.
func serve(ctx context.Context, ended chan<- struct{}, db string) (string, error) {
	out, in := io.Pipe()
	go func() {
		defer close(ended)
		cli.Main(ctx, []string{"serve", "--addr=127.0.0.1:0", "--ops-addr=off", "--db", db, "--log-level=error"}, nil, in, os.Stderr, func(string) string { return "" })
		in.Close()
	}()
	lines, announced := bufio.NewScanner(out), regexp.MustCompile(`serves (http://\S+)`)
	for lines.Scan() {
		if m := announced.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, out)
			return m[1], nil
		}
	}
	return "", fmt.Errorf("the server ended before it announced itself")
}

// newShop returns a client for a workspace that no other test uses meanwhile. An earlier one may have.
func newShop(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	key := <-wide
	t.Cleanup(func() { wide <- key })
	c, err := client.New(serverURL, key, opts...)
	must(t, err)
	return c
}

// must ends the test if err is not nil.
var must = processtest.Must

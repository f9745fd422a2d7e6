package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"

	"example.com/petstore/internal/processtest"
)

// The floor is net/http with nothing behind it: it answers every request with
// the same status and body, whatever was asked.
type floor struct{ answer atomic.Pointer[constant] }

type constant struct {
	status int
	body   []byte
	length []string
}

// answerPath is where the constant is set; no row asks for it.
const answerPath = "/-/answer"

// ServeHTTP implements http.Handler.
func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == answerPath {
		f.set(w, r)
		return
	}
	c := f.answer.Load()
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	if c.status != http.StatusNotModified {
		h["Content-Length"] = c.length
	}
	w.WriteHeader(c.status)
	if c.status != http.StatusNotModified {
		w.Write(c.body)
	}
}

func (f *floor) set(w http.ResponseWriter, r *http.Request) {
	status, err := strconv.Atoi(r.URL.Query().Get("status"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.answer.Store(&constant{status, body, []string{strconv.Itoa(len(body))}})
}

// serveFloor is the child that is the floor. It listens on the address given
// until the parent ends it.
func serveFloor(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("floor ADDR")
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &floor{}}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// startFloor starts the floor and returns when it listens.
func startFloor(ctx context.Context) (*process, error) {
	addr, err := processtest.FreeAddr()
	if err != nil {
		return nil, err
	}
	p := &process{addr: addr}
	if p.cmd, err = child(ctx, "floor", addr); err != nil {
		return nil, err
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, waitFor(ctx, addr)
}

// child returns the command of this program in another role.
func child(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"child"}, args...)...)
	cmd.Env = append(cleanEnv(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// setFloor has the floor answer as the server did.
func setFloor(ctx context.Context, addr string, status int, body []byte) error {
	url := fmt.Sprintf("http://%s%s?status=%d", addr, answerPath, status)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the floor answered %s", response.Status)
	}
	return nil
}

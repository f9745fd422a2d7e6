package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"

	"example.com/petstore/internal/processtest"
)

// The reference is net/http with nothing behind it: it answers every request
// with the same status, header fields and body, whatever was asked.
type reference struct{ answer atomic.Pointer[constant] }

// A constant is what the reference answers.
type constant struct {
	Status int
	Header http.Header
	Body   []byte
}

// answerPath is where the constant is set; no row asks for it.
const answerPath = "/-/answer"

// ServeHTTP implements http.Handler.
func (f *reference) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == answerPath {
		f.set(w, r)
		return
	}
	c := f.answer.Load()
	h := w.Header()
	for name, values := range c.Header {
		h[name] = values
	}
	w.WriteHeader(c.Status)
	w.Write(c.Body)
}

func (f *reference) set(w http.ResponseWriter, r *http.Request) {
	c := &constant{}
	if err := json.NewDecoder(r.Body).Decode(c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.Header.Set("Content-Length", strconv.Itoa(len(c.Body)))
	f.answer.Store(c)
}

// serveReference is the child that is the reference. It serves HTTP and HTTPS, until
// the parent ends it, on the two addresses given, with the two files of a certificate.
func serveReference(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("reference ADDR TLS-ADDR CERT KEY")
	}
	handler := &reference{}
	open, secure := &http.Server{Addr: args[0], Handler: handler}, &http.Server{Addr: args[1], Handler: handler}
	secure.ErrorLog = log.New(io.Discard, "", 0) // who waits for it to listen shakes no hands
	context.AfterFunc(ctx, func() { open.Close(); secure.Close() })
	ended := make(chan error, 2)
	go func() { ended <- open.ListenAndServe() }()
	go func() { ended <- secure.ListenAndServeTLS(args[2], args[3]) }()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// startReference starts the reference and returns when it listens.
func startReference(ctx context.Context, cert, key string) (*process, error) {
	p := &process{}
	for _, addr := range []*string{&p.addr, &p.tlsAddr} {
		var err error
		if *addr, err = processtest.FreeAddr(); err != nil {
			return nil, err
		}
	}
	cmd, err := child(ctx, "reference", p.addr, p.tlsAddr, cert, key)
	if err != nil {
		return nil, err
	}
	if err := p.start(cmd); err != nil {
		return nil, err
	}
	return p, errors.Join(waitFor(ctx, p.addr), waitFor(ctx, p.tlsAddr))
}

// child returns the command of this program in another role.
func child(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"child"}, args...)...)
	cmd.Env, cmd.Stderr = environment("GOMAXPROCS=1"), os.Stderr
	return cmd, nil
}

// mirror has the reference answer what the server answers to the row: on the plain way the status and the body, with
// what a body needs, and elsewhere the same header fields too.
func mirror(ctx context.Context, r *row, server, reference *process, w *workload) error {
	client := newHTTPClient()
	defer client.CloseIdleConnections()
	answered, body, err := r.do(ctx, client, server, w, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	header := http.Header{"Content-Type": answered["Content-Type"]}
	if r.transport != plain {
		header = answered
		for _, hop := range []string{"Date", "Connection", "Content-Length"} { // net/http's own
			header.Del(hop)
		}
	}
	return setReference(ctx, reference.addr, &constant{r.want, header, body})
}

func setReference(ctx context.Context, addr string, c *constant) error {
	text, err := json.Marshal(c)
	if err == nil {
		_, _, err = call(ctx, http.MethodPost, "http://"+addr+answerPath, "", string(text), http.StatusOK)
	}
	return err
}

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

// serveReference is this program as the reference. It serves HTTP and HTTPS, until the
// parent ends it, on the two addresses given, with the two files of a certificate.
func serveReference(args []string) error {
	if len(args) != 4 {
		return errors.New("reference ADDR TLS-ADDR CERT KEY")
	}
	handler := &reference{}
	secure := &http.Server{Addr: args[1], Handler: handler, ErrorLog: log.New(io.Discard, "", 0)} // who waits for it to listen shakes no hands
	ended := make(chan error, 2)
	go func() { ended <- http.ListenAndServe(args[0], handler) }()
	go func() { ended <- secure.ListenAndServeTLS(args[2], args[3]) }()
	return <-ended
}

// startReference starts the reference and returns when it listens.
func (b *bench) startReference(ctx context.Context) (*process, error) {
	addr, err := processtest.FreeAddr()
	if err != nil {
		return nil, err
	}
	tlsAddr, err := processtest.FreeAddr()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := b.start(ctx, addr, self, "reference", addr, tlsAddr, b.cert, b.key)
	if err != nil {
		return nil, err
	}
	p.tlsAddr = tlsAddr
	return p, waitFor(ctx, tlsAddr)
}

// mirror has the reference answer what the server answers to the row: on the plain way the status and the body, with
// what a body needs, and elsewhere the same header fields too.
func (d *duel) mirror(ctx context.Context, r *row) error {
	client := newHTTPClient()
	defer client.CloseIdleConnections()
	answered, body, err := r.do(ctx, client, d.ours.process, d.ours.workload, rand.New(rand.NewPCG(1, 2)))
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
	return setReference(ctx, d.reference.process.addr, &constant{r.want, header, body})
}

func setReference(ctx context.Context, addr string, c *constant) error {
	text, err := json.Marshal(c)
	if err == nil {
		_, _, err = call(ctx, http.MethodPost, "http://"+addr+answerPath, "", string(text), http.StatusOK)
	}
	return err
}

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A row is one kind of request.
type row struct {
	name      string
	words     string // what it asks, for a reader
	transport transport
	callers   int
	want      int           // the status; 0 for any of success
	write     bool          // measured beside the disk too
	least     float64       // the target; 0 if there is none
	warm      time.Duration // what does not count; 0 for a short time

	request newRequest
}

// readers is how many callers ask at once where nothing is written: enough that
// the server never waits for one.
const readers = 32

// newRequest appends a request.
type newRequest func(dst []byte, w *workload, r *rand.Rand) []byte

// A workload is what requests are made of.
type workload struct {
	*dataset
	cursor     string         // after 10,000 pages of 20
	strange    atomic.Uint32  // counts the requests of those without a key
	pending    map[int64]bool // the pets that setStatus made so
	workspaces []string       // keys, if there are many workspaces
}

// rows returns every row, in the order of the table: those of the plain way, whose reference sends no header fields
// but those of the body, and then those of the other transports, whose reference sends the same fields.
func rows() []row {
	all := []row{
		// Warm until what is popular is cached.
		{name: "get", words: "GET one: `/pets/{id}`, some more popular than others", callers: readers, want: 200, warm: 3 * time.Second, least: .85, request: getPopular},
		{name: "get-uniform", words: "GET one: `/pets/{id}`, all alike", callers: readers, want: 200, least: .6, request: getPet},
		{name: "list", words: "list of 20, first page", callers: readers, want: 200, least: 1, request: listFirst},
		{name: "limited", words: "refused by the limit (429)", callers: readers, want: 429, least: .85, request: getSpent},
		{name: "bad-key", words: "unknown key (401)", callers: readers, want: 401, request: getUnknown}, // without a goal: it waits for a look-up that all guesses share,
		{name: "create-pet", words: "POST pet, 64 callers", callers: 64, want: 201, write: true, request: createPet},
		{name: "order", words: "order, different pets, 64 callers", callers: 64, want: 201, write: true, least: 3, request: orderAny},
		{name: "order-hot", words: "order, one hot pet, 64 callers", callers: 64, want: 201, write: true, least: 4.5, request: orderHot},
	}
	for _, t := range []transport{splitHead, http10, http2TLS} {
		for _, name := range []string{"get", "list", "bad-key"} {
			r := *findRow(all, name)
			r.name, r.words, r.transport, r.warm = name+", "+string(t), r.words+"; "+t.words(), t, 500*time.Millisecond
			if r.least > 0 {
				r.least = .6
			}
			all = append(all, r)
		}
	}
	return all
}

func findRow(all []row, name string) *row {
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

func (w *workload) anyPet(r *rand.Rand) int64 { return 1 + r.Int64N(int64(w.pets)) }

// popular draws one of n, from 0 on, of which each is drawn about half as often as the one at half its place: Zipf's law.
func popular(r *rand.Rand, n int) int {
	const s = 1.001 // it has to be above 1
	return int(rand.NewZipf(r, s, 1, uint64(n-1)).Uint64())
}

// popularPet returns the id of a pet, of which some are asked for much more often than others: which ones is scattered
// over all ids.
func (w *workload) popularPet(r *rand.Rand) int64 {
	const scatter = 0x9E3779B97F4A7C15
	rank := uint64(popular(r, w.pets))
	return 1 + int64((rank+1)*scatter>>1%uint64(w.pets))
}

// head appends the end of a request's head.
func head(dst []byte, key string, more ...string) []byte {
	dst = append(dst, " HTTP/1.1\r\nHost: petstore\r\nUser-Agent: bench\r\nAccept: application/json\r\nAuthorization: Bearer "...)
	dst = append(dst, key...)
	dst = append(dst, "\r\n"...)
	for _, line := range more {
		dst = append(append(dst, line...), "\r\n"...)
	}
	return append(dst, "\r\n"...)
}

func getPet(dst []byte, w *workload, r *rand.Rand) []byte {
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), w.anyPet(r), 10), w.key)
}

func getPopular(dst []byte, w *workload, r *rand.Rand) []byte {
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), w.popularPet(r), 10), w.key)
}

func listFirst(dst []byte, w *workload, _ *rand.Rand) []byte {
	return head(append(dst, "GET /pets?limit=20"...), w.key)
}

func listDeep(dst []byte, w *workload, _ *rand.Rand) []byte {
	return head(append(append(dst, "GET /pets?limit=20&cursor="...), w.cursor...), w.key)
}

func getSpent(dst []byte, w *workload, r *rand.Rand) []byte {
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), w.anyPet(r), 10), w.spent)
}

// getUnknown comes from a new address every 50 requests, since an address may
// try 60 keys a minute. They begin anew long before the table of addresses is
// full.
func getUnknown(dst []byte, w *workload, r *rand.Rand) []byte {
	n := w.strange.Add(1) / 50 % 30_000
	line := []byte("X-Forwarded-For: 2001:db8:0:0000::1")
	hex.Encode(line[len(line)-7:], []byte{byte(n >> 8), byte(n)})
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), w.anyPet(r), 10), w.unknown, string(line))
}

// get asks for the same path each time.
func get(path string) newRequest {
	return func(dst []byte, w *workload, _ *rand.Rand) []byte {
		return head(append(append(dst, "GET "...), path...), w.key)
	}
}

func createPet(dst []byte, w *workload, r *rand.Rand) []byte {
	body := fmt.Appendf(nil, `{"name":%q,"categoryId":%d}`, petName(r.Int()), 1+r.Int64N(categories))
	return send(dst, "POST", "/pets", w.key, body)
}

// orderAny orders a pet that is available.
func orderAny(dst []byte, w *workload, r *rand.Rand) []byte {
	return order(dst, w, firstOfTen(w.anyPet(r)))
}

// firstOfTen returns the id of a pet that is available, near another.
func firstOfTen(id int64) int64 { return (id-1)/10*10 + 1 }

func orderHot(dst []byte, w *workload, _ *rand.Rand) []byte { return order(dst, w, 1) }

func order(dst []byte, w *workload, pet int64) []byte {
	var b [64]byte
	body := strconv.AppendInt(append(b[:0], `{"petId":`...), pet, 10)
	return send(dst, "POST", "/store/orders", w.key, append(body, `,"quantity":1}`...))
}

func send(dst []byte, method, path, key string, body []byte) []byte {
	dst = append(append(append(dst, method...), ' '), path...)
	dst = head(dst, key, "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body)))
	return append(dst, body...)
}

// newWorkload asks the server for what the requests need to know.
func newWorkload(ctx context.Context, p *process, d *dataset) (*workload, error) {
	w := &workload{dataset: d, pending: make(map[int64]bool)}
	if _, _, err := p.get(ctx, "/pets", w.spent); err != nil { // the one request that it has
		return nil, err
	}
	return w, w.descend(ctx, p)
}

func (p *process) get(ctx context.Context, path, key string) (http.Header, []byte, error) {
	return call(ctx, http.MethodGet, "http://"+p.addr+path, key, "", http.StatusOK)
}

// descend walks to the cursor that stands after 10,000 pages of 20. A database
// with fewer pets ends sooner.
func (w *workload) descend(ctx context.Context, p *process) error {
	const pages = 10_000 * 20 / 100
	for range pages {
		path := "/pets?limit=100"
		if w.cursor != "" {
			path += "&cursor=" + w.cursor
		}
		header, _, err := p.get(ctx, path, w.key)
		if err != nil {
			return err
		}
		_, rest, ok := strings.Cut(header.Get("Link"), "cursor=")
		if !ok {
			return nil
		}
		w.cursor, _, _ = strings.Cut(rest, ">")
	}
	return nil
}

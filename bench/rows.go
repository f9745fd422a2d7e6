package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/access"
)

// A row is one kind of request.
type row struct {
	name    string
	callers int
	want    int  // the status
	write   bool // measured beside the disk too
	also    int  // a status of refusals that are counted apart; 0 if there is none

	rate float64       // how many are sent a second by whoever is free; 0: by everyone, at once after an answer
	warm time.Duration // what does not count; 0 for a short time

	request func(dst []byte, w *world, r *rand.Rand) []byte
}

// readers is how many callers ask at once where nothing is written: enough that
// the server never waits for one.
const readers = 32

// A world is what requests are made of.
type world struct {
	shop    *shop
	unknown string // a key with a good checksum that nobody has
	cursor  string // after 10,000 pages of 20
	tags    []string
	strange atomic.Uint32  // counts the requests of those without a key
	pending map[int64]bool // the pets that setStatus made so
}

// rows returns every row, in the order of the table.
func rows() []row {
	return []row{
		{name: "get", callers: readers, want: 200, warm: time.Second, request: getPopular}, // what is popular has been asked for before
		{name: "get-any", callers: readers, want: 200, request: getPet},
		{name: "get-successor", callers: readers, want: 200, request: getSuccessor},
		{name: "list", callers: readers, want: 200, request: listFirst},
		{name: "list-deep", callers: readers, want: 200, request: listDeep},
		{name: "not-modified", callers: readers, want: 304, request: getTagged},
		{name: "limited", callers: readers, want: 429, request: getSpent},
		{name: "bad-key", callers: readers, want: 401, request: getUnknown},
		{name: "create-pet", callers: 64, want: 201, write: true, request: createPet},
		{name: "order", callers: 64, want: 201, write: true, request: orderAny},
		{name: "order-hot", callers: 64, want: 201, write: true, request: orderHot},
		{name: "order-alone", callers: 1, want: 201, write: true, request: orderAny},
	}
}

// describe says in words what a row asks.
func (r *row) describe() string {
	words := map[string]string{
		"get":           "GET one: `/pets/{id}`, some more popular than others",
		"get-any":       "GET one: `/pets/{id}`, all alike",
		"get-successor": "GET one: `/pets?id={id}`",
		"list":          "list of 20, first page",
		"list-deep":     "list of 20, 10,000 pages deep",
		"not-modified":  "conditional GET (304)",
		"limited":       "refused by the limit (429)",
		"bad-key":       "unknown key (401)",
		"create-pet":    "POST pet, 64 callers",
		"order":         "order, different pets, 64 callers",
		"order-hot":     "order, one hot pet, 64 callers",
		"order-alone":   "order, one caller alone",
	}
	return words[r.name]
}

func (w *world) anyPet(r *rand.Rand) int64 { return 1 + r.Int64N(int64(w.shop.pets)) }

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

func getPet(dst []byte, w *world, r *rand.Rand) []byte {
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), w.anyPet(r), 10), w.shop.key)
}

func getPopular(dst []byte, w *world, r *rand.Rand) []byte {
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), w.popularPet(r), 10), w.shop.key)
}

func getSuccessor(dst []byte, w *world, r *rand.Rand) []byte {
	return head(strconv.AppendInt(append(dst, "GET /pets?id="...), w.popularPet(r), 10), w.shop.key)
}

func listFirst(dst []byte, w *world, _ *rand.Rand) []byte {
	return head(append(dst, "GET /pets?limit=20"...), w.shop.key)
}

// requestList asks for a list as a peer wants to be asked.
func (s *side) requestList(dst []byte, w *world, _ *rand.Rand) []byte {
	return head(append(append(dst, "GET "...), s.list...), w.shop.key)
}

func listDeep(dst []byte, w *world, _ *rand.Rand) []byte {
	return head(append(append(dst, "GET /pets?limit=20&cursor="...), w.cursor...), w.shop.key)
}

func getTagged(dst []byte, w *world, r *rand.Rand) []byte {
	i := r.IntN(len(w.tags))
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), int64(i+1), 10), w.shop.key, w.tags[i])
}

func getSpent(dst []byte, w *world, r *rand.Rand) []byte {
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), w.anyPet(r), 10), w.shop.spent)
}

// getUnknown comes from a new address every 50 requests, since an address may
// try 60 keys a minute. They begin anew long before the table of addresses is
// full.
func getUnknown(dst []byte, w *world, r *rand.Rand) []byte {
	n := w.strange.Add(1) / 50 % 30_000
	line := []byte("X-Forwarded-For: 2001:db8:0:0000::1")
	hex.Encode(line[len(line)-7:], []byte{byte(n >> 8), byte(n)})
	return head(strconv.AppendInt(append(dst, "GET /pets/"...), w.anyPet(r), 10), w.unknown, string(line))
}

func createPet(dst []byte, w *world, r *rand.Rand) []byte {
	var b [64]byte
	body := strconv.AppendInt(append(b[:0], `{"name":"Basil `...), r.Int64N(1e6), 10)
	body = strconv.AppendInt(append(body, `","categoryId":`...), 1+r.Int64N(categories), 10)
	return post(dst, "/pets", w.shop.key, append(body, '}'))
}

func orderAny(dst []byte, w *world, r *rand.Rand) []byte { return order(dst, w, w.anyPet(r)) }

func orderHot(dst []byte, w *world, _ *rand.Rand) []byte { return order(dst, w, 1) }

func order(dst []byte, w *world, pet int64) []byte {
	var b [64]byte
	body := strconv.AppendInt(append(b[:0], `{"petId":`...), pet, 10)
	return post(dst, "/store/orders", w.shop.key, append(body, `,"quantity":1}`...))
}

func post(dst []byte, path, key string, body []byte) []byte {
	dst = head(append(append(dst, "POST "...), path...), key,
		"Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body)))
	return append(dst, body...)
}

// newWorld asks the server for what the requests need to know.
func newWorld(ctx context.Context, p *process, s *shop) (*world, error) {
	w := &world{shop: s, pending: make(map[int64]bool)}
	w.unknown, _ = access.Mint()
	c, err := dial(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	for id := 1; id <= min(256, s.pets); id++ {
		a, err := w.ask(c, "/pets/"+strconv.Itoa(id))
		if err != nil {
			return nil, err
		}
		w.tags = append(w.tags, "If-None-Match: "+a.header("ETag"))
	}
	if err := w.spend(c); err != nil {
		return nil, err
	}
	return w, w.descend(c)
}

func (w *world) ask(c *client, path string) (answer, error) {
	c.out = head(append(append(c.out[:0], "GET "...), path...), w.shop.key)
	a, err := c.call()
	if err == nil && a.status() != 200 {
		err = fmt.Errorf("GET %s answered %d: %.200q", path, a.status(), a.body)
	}
	return a, err
}

// spend uses up the one request of the workspace that has no more.
func (w *world) spend(c *client) error {
	c.out = head(append(c.out[:0], "GET /pets/1"...), w.shop.spent)
	_, err := c.call()
	return err
}

// descend walks to the cursor that stands after 10,000 pages of 20. A shop with
// fewer pets ends sooner.
func (w *world) descend(c *client) error {
	const pages = 10_000 * 20 / 100
	for range pages {
		path := "/pets?limit=100"
		if w.cursor != "" {
			path += "&cursor=" + w.cursor
		}
		a, err := w.ask(c, path)
		if err != nil {
			return err
		}
		_, rest, ok := strings.Cut(a.header("Link"), "cursor=")
		if !ok {
			return nil
		}
		w.cursor, _, _ = strings.Cut(rest, ">")
	}
	return nil
}

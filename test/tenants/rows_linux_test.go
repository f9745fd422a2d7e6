package tenants

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A row is something that all share, and how greedy workspaces hold it.
type row struct {
	name      string
	protocols string // over which it is held: "1", "2" or "12"
	matrix    string // the same, but only in the matrix
	floods    bool   // with more connections than there may be
	conns     int    // of each workspace; 0 for so many that there is room for others
	each      int    // how many of the first request each workspace sends, on all its connections
	hold      func(c *caller) error
	prepare   func(t *testing.T, s *site) // before the modest workspace is measured without the others
	begun     func(t *testing.T, s *site) // when the others hold what they want
	keeps     bool                        // what is held lasts: the server is stopped meanwhile
}

const (
	// quota is how many requests each greedy workspace makes at once, where they count:
	// those that the free plan has in a minute.
	quota = 60
	// unread is how many long answers on one connection are more than the kernel takes for a
	// client that does not read.
	unread = 75
)

func rows() []row {
	return slices.Concat(connectionRows(), answerRows(), longRows(), webhookRows())
}

func connectionRows() []row {
	account := func(c *caller) error { return c.send(c.get("/account")) }
	return []row{
		{name: "connections", protocols: "12", floods: true, hold: account},
		{name: "connections of revoked keys", protocols: "1", matrix: "2", floods: true, hold: account, begun: revokeGreedy},
		{name: "bodies byte by byte", protocols: "2", matrix: "1", each: quota, hold: func(c *caller) error {
			q := c.post(`{"petId":`)
			q.length = 60_000
			if err := c.times(c.share(), q); err != nil {
				return err
			}
			return c.drip(" ")
		}},
	}
}

// answerRows hold what answers go through: places among those that are carried out, and
// what waits to be written.
func answerRows() []row {
	return []row{
		{name: "reads", protocols: "2", each: quota, hold: func(c *caller) error { return c.times(c.share(), c.get("/pets?limit=100")) }},
		{name: "reads by net/http", matrix: "1", hold: func(c *caller) error { // the head is too long for the plain way
			q := c.get("/pets?limit=100")
			q.fields = []string{"x-pad", strings.Repeat("x", 5000)}
			return c.times(unread, q)
		}},
		{name: "pipelined reads", protocols: "1", hold: func(c *caller) error { return c.times(unread, c.get("/pets?limit=100")) }},
		{name: "writes", matrix: "2", each: quota, hold: func(c *caller) error { return c.times(c.share(), c.post(`{"petId":1}`)) }},
		{name: "small answers", protocols: "2", matrix: "1", hold: func(c *caller) error { return c.times(c.many(), c.get("/account")) }},
		{name: "pages of events", protocols: "12", each: quota, hold: func(c *caller) error { return c.times(c.share(), c.get("/events?after=0&limit=100")) }},
		{name: "documentation without keys", protocols: "2", matrix: "1", hold: func(c *caller) error {
			return c.times(c.many(), sent{method: "GET", path: "/openapi.json"})
		}},
		{name: "pages of the console", matrix: "12", hold: func(c *caller) error {
			return c.times(c.many(), c.page("/console/pets"))
		}},
	}
}

func (c *caller) post(body string) sent {
	return sent{method: "POST", path: "/store/orders", by: c.key(), fields: []string{"content-type", "application/json"}, body: body}
}

func (c *caller) page(path string) sent { return sent{method: "GET", path: path, by: c.session()} }

// many is how many requests a connection has where nothing counts them.
func (c *caller) many() int {
	if c.framer == nil {
		return 50
	}
	return min(100, 20_000/(c.conns*greedyWorkspaces))
}

// drip sends a part of the body of each request on the connection now and then.
func (c *caller) drip(part string) error {
	for !c.over() && c.ctx.Err() == nil {
		if err := c.more(part); err != nil {
			return err
		}
		pause(c.ctx, 50*time.Millisecond)
	}
	return nil
}

// longRows hold what takes its time.
func longRows() []row {
	const half = "--x\r\nContent-Disposition: form-data; name=\"do\"\r\n\r\nimport\r\n--x\r\n" +
		"Content-Disposition: form-data; name=\"file\"; filename=\"pets.csv\"\r\n\r\nname,category\n"
	return []row{
		{name: "streams of events", protocols: "12", each: 50, hold: func(c *caller) error {
			q := c.get("/events?after=0")
			q.fields = []string{"accept", "text/event-stream"}
			return c.times(c.atOnce(), q)
		}},
		{name: "waits for rare events", protocols: "2", each: quota, hold: func(c *caller) error {
			return c.times(c.share(), c.get("/events?type=workspace.reset&after=0&wait=30"))
		}},
		{name: "downloads", protocols: "2", matrix: "1", conns: 4, hold: func(c *caller) error {
			n := 1
			if c.framer == nil {
				n = 20 // the kernel takes the first ones, and some are refused at once
			}
			return c.times(n, c.page("/console/pets.csv"))
		}},
		{name: "uploads that stall", protocols: "1", matrix: "2", conns: 4, hold: func(c *caller) error {
			return c.send(c.upload("multipart/form-data; boundary=x", half, 100_000))
		}},
		{name: "uploads with many columns", protocols: "1", conns: 2, hold: func(c *caller) error {
			kind, body := upload("try", "name,category"+strings.Repeat(",x", 500_000)+"\n")
			return c.send(c.upload(kind, body, 0))
		}},
	}
}

// atOnce is the connection's share of requests that last.
func (c *caller) atOnce() int {
	if c.framer == nil {
		return 1
	}
	return c.share()
}

func (c *caller) upload(kind, body string, length int) sent {
	return sent{method: "POST", path: "/console/pets/import", by: c.session(), fields: []string{"content-type", kind}, body: body, length: length}
}

// webhookRows hold what is for receivers.
func webhookRows() []row {
	return []row{
		{name: "webhooks", protocols: "1", conns: 1, keeps: true, prepare: addWebhooks, hold: func(c *caller) error { return c.times(5, c.post(`{"petId":1}`)) }},
		{name: "tests of webhooks", protocols: "2", matrix: "1", conns: 4, prepare: addWebhooks, hold: func(c *caller) error {
			return c.send(sent{method: "POST", path: "/webhooks/" + c.site.webhooks[c.tenant.name] + "/test", by: c.key()})
		}},
	}
}

// addWebhooks gives each greedy workspace as many webhooks as there may be, with
// receivers of all hostile kinds.
func addWebhooks(t *testing.T, s *site) {
	t.Helper()
	var all sync.WaitGroup
	s.webhooks = make(map[string]string)
	for _, w := range s.greedy {
		all.Go(func() {
			for i := range 20 {
				id, err := s.addWebhook(w, hostile[i%len(hostile)])
				if err != nil {
					t.Error(err)
				}
				s.mu.Lock()
				s.webhooks[w.name] = id
				s.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// addWebhook returns the id of a new webhook of orders.
func (s *site) addWebhook(w *tenant, path string) (string, error) {
	var made struct{ ID string }
	err := ask{"POST", s.URL + "/webhooks", w.keys[0].Key, "", fmt.Sprintf(`{"url":"%s%s","types":["order.created"]}`, s.receivers.url, path)}.into(s.client, &made)
	return made.ID, err
}

// revokeGreedy revokes every key of the greedy workspaces, which holds at once on the server that did it.
func revokeGreedy(t *testing.T, s *site) {
	t.Helper()
	for _, w := range s.greedy {
		for _, k := range w.keys {
			if err := (ask{http.MethodDelete, s.Ops + "/admin/v1/keys/" + k.ID, s.token, "", ""}).into(s.client, nil); err != nil {
				t.Error(err)
			}
		}
	}
}

package tenants

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// patience is how long the modest workspace waits for anything. A webhook is to hear
// within 2 s, and everything else at once; this is for busy machines.
const patience = 10 * time.Second

// A modest client asks for one thing after the other.
type modest struct {
	*site
	c     *http.Client // keeps its connection
	leave func()       // closes that
	after int64        // the last event it has seen
	hook  string       // id of its webhook
	n     int          // requests that it has made
}

func (s *site) newClient() *modest {
	ctx, leave := context.WithCancel(context.Background())
	return &modest{site: s, c: s.clientFrom(ctx, s.modest.from), leave: leave}
}

// newModest returns a client whose workspace has a webhook.
func (s *site) newModest() (*modest, error) {
	m := s.newClient()
	var made struct{ ID string }
	body := fmt.Sprintf(`{"url":"%s/good","types":["order.completed"]}`, s.receivers.url)
	err := ask{"POST", s.URL + "/webhooks", s.modest.keys[0].Key, "", body}.into(m.c, &made)
	m.hook = made.ID
	return m, err
}

// clientFrom returns a client with an address of its own, over the site's protocol. Its
// connections are closed when the context ends.
func (s *site) clientFrom(ctx context.Context, ip net.IP) *http.Client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: ip}}
	t := &http.Transport{Protocols: new(http.Protocols), DialContext: func(dialing context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(dialing, network, addr)
		if err == nil {
			context.AfterFunc(ctx, func() { c.Close() })
		}
		return c, err
	}}
	t.Protocols.SetHTTP1(!s.http2)
	t.Protocols.SetUnencryptedHTTP2(s.http2)
	return &http.Client{Transport: t}
}

func (m *modest) key() string { return m.modest.keys[0].Key }

// quick returns the next request of the mix.
func (m *modest) quick() ask {
	m.n++
	switch m.n % 4 {
	case 0:
		return ask{"GET", m.URL + "/pets?limit=20", m.key(), "", ""}
	case 1:
		return ask{"GET", m.URL + fmt.Sprintf("/pets/%d", 1+m.n%20), m.key(), "", ""}
	case 2:
		return ask{"POST", m.URL + "/store/orders", m.key(), "", `{"petId":1}`}
	}
	return ask{"GET", m.URL + fmt.Sprintf("/events?limit=10&after=%d", m.after), m.key(), "", ""}
}

// A sample is how long requests took.
type sample struct {
	took   []time.Duration // in order
	failed map[string]int  // how often what failed
}

func (s sample) p99() time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	return s.took[len(s.took)*99/100]
}

func (s sample) String() string {
	if len(s.took) == 0 {
		return "no requests"
	}
	return fmt.Sprintf("%d requests, median %v, p99 %v, at most %v", len(s.took), short(s.took[len(s.took)/2]), short(s.p99()), short(s.took[len(s.took)-1]))
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// mix asks for so long. Every tenth request is made on a new connection.
func (m *modest) mix(length time.Duration) sample {
	s := sample{failed: make(map[string]int)}
	for end := time.Now().Add(length); time.Now().Before(end) && m.lives(); {
		a := m.quick()
		began := time.Now()
		body, err := m.within(a, m.n%10 == 0)
		s.took = append(s.took, time.Since(began))
		if err != nil {
			s.failed[m.inShort(err)]++
		} else if strings.Contains(a.url, "/events") {
			m.saw(body)
		}
	}
	slices.Sort(s.took)
	return s
}

// within makes a request, on a new connection or on its own.
func (m *modest) within(a ask, anew bool) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if anew {
		return a.of(ctx, m.clientFrom(ctx, m.modest.from))
	}
	return a.of(ctx, m.c)
}

// inShort returns an error without what differs each time.
func (m *modest) inShort(err error) string {
	return ends.ReplaceAllString(strings.ReplaceAll(err.Error(), m.URL, ""), "")
}

// ends are the addresses of a connection.
var ends = regexp.MustCompile(` tcp 127[0-9.:>-]+`)

// saw notes up to where events were read.
func (m *modest) saw(body string) {
	var events []struct{ ID int64 }
	if json.Unmarshal([]byte(body), &events) == nil && len(events) > 0 {
		m.after = events[len(events)-1].ID
	}
}

// An errand is something that takes more than a request of the mix.
type errand struct {
	name string
	do   func(ctx context.Context) error
}

func (m *modest) errands() []errand {
	fetch := func(ip net.IP, a ask) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := a.of(ctx, m.clientFrom(ctx, ip))
			return err
		}
	}
	kind, body := upload("try", "name,category,stock\nRex,Kind,1\n")
	session := m.modest.cookies[0]
	return []errand{
		{"eleventh", fetch(m.eleventh.from, ask{"GET", m.URL + "/pets", m.eleventh.keys[0].Key, "", ""})},
		{"description", fetch(m.modest.from, ask{"GET", m.URL + "/openapi.json", m.key(), "", ""})},
		{"docs", fetch(net.IPv4(127, 0, 102, 1), ask{"GET", m.URL + "/docs", "", "", ""})},
		{"page", fetch(m.modest.from, ask{"GET", m.URL + "/console/pets", session, "", ""})},
		{"import", fetch(m.modest.from, ask{"POST", m.URL + "/console/pets/import", session, kind, body})},
		{"download", fetch(m.modest.from, ask{"GET", m.URL + "/console/pets.csv", session, "", ""})},
		{"stream", m.follow},
		{"webhook test", m.testWebhook},
		{"webhook", m.hear},
	}
}

// follow opens a stream of events, places an order, and reads until its event comes.
func (m *modest) follow(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL+fmt.Sprintf("/events?after=%d", m.after), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+m.key())
	r.Header.Set("Accept", "text/event-stream")
	answer, err := m.clientFrom(ctx, m.modest.from).Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /events: %s", answer.Status)
	}
	if err := m.order(ctx, `{"petId":1}`, nil); err != nil {
		return err
	}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "event: order.created") {
			return nil
		}
	}
	return errors.New("GET /events: no order")
}

// order places an order.
func (m *modest) order(ctx context.Context, body string, id *int64) error {
	text, err := ask{"POST", m.URL + "/store/orders", m.key(), "", body}.of(ctx, m.c)
	var o struct{ ID int64 }
	if err == nil && id != nil {
		err = json.Unmarshal([]byte(text), &o)
		*id = o.ID
	}
	return err
}

// testWebhook has the server send a test to the good receiver.
func (m *modest) testWebhook(ctx context.Context) error {
	text, err := ask{"POST", m.URL + "/webhooks/" + m.hook + "/test", m.key(), "", ""}.of(ctx, m.c)
	if err == nil && !strings.Contains(text, `"status":204`) {
		err = fmt.Errorf("test of a webhook: %s", text)
	}
	return err
}

// hear completes an order, and waits until the good receiver hears of it.
func (m *modest) hear(ctx context.Context) error {
	var id int64
	if err := m.order(ctx, `{"petId":1}`, &id); err != nil {
		return err
	}
	if _, err := (ask{"PATCH", fmt.Sprintf("%s/store/orders/%d", m.URL, id), m.key(), "", `{"complete":true}`}).of(ctx, m.c); err != nil {
		return err
	}
	for {
		select {
		case got := <-m.receivers.heard:
			if got == id {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("the webhook heard nothing: %w", ctx.Err())
		}
	}
}

// run runs the errands, and returns how long each took and what failed.
func (m *modest) run() (took map[string]time.Duration, failed map[string]string) {
	took, failed = make(map[string]time.Duration), make(map[string]string)
	for _, e := range m.errands() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		began := time.Now()
		err := e.do(ctx)
		cancel()
		took[e.name] = short(time.Since(began))
		if err != nil {
			failed[e.name] = m.inShort(err)
		}
	}
	return took, failed
}

// list returns what is in a map, in the order of its names.
func list[V any](m map[string]V) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%s %v", name, m[name]))
	}
	return strings.Join(all, ", ")
}

//go:build linux

package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// The flags of a long campaign.
var (
	soak   = flag.Duration("soak", 0, "let TestSoak run campaigns for so long in all")
	volume = flag.Int("faults", 0, "let a campaign of TestSoak end after so many faults, however long they take")
	seed   = flag.Uint64("seed", 1, "the seed of what is random in the campaigns")
)

// A campaign lets buyers order through faults.
type campaign struct {
	dir    string // of the database, if that is SQLite's
	db     string // the URL of the database; "" for a file in dir
	logs   string // the folder of the servers' logs; "" for dir
	seed   uint64
	cycles int           // how many faults
	length time.Duration // the end comes after so long at the latest, unless it is 0

	// fault breaks a server under load. It returns when the server is gone, or
	// when it is well again.
	fault func(*run) error
}

// A run is a campaign under way.
type run struct {
	campaign
	rand   *rand.Rand
	server *servertest.Server
	buyers *buyers
	feed   *listener
	done   int // faults so far
}

// A report says what a campaign did.
type report struct {
	faults, acknowledged, cancelled, refused, replayed int
	retries                                            int64
	took                                               time.Duration
}

func (r report) String() string {
	return fmt.Sprintf("%d faults in %v: %d answers acknowledged (%d cancellations), %d orders refused, %d retries, %d answered by replay",
		r.faults, r.took.Round(100*time.Millisecond), r.acknowledged, r.cancelled, r.refused, r.retries, r.replayed)
}

func (r report) plus(o report) report {
	return report{
		faults: r.faults + o.faults, acknowledged: r.acknowledged + o.acknowledged, cancelled: r.cancelled + o.cancelled,
		refused: r.refused + o.refused, replayed: r.replayed + o.replayed, retries: r.retries + o.retries, took: r.took + o.took,
	}
}

// errLedger is what a campaign returns, with the differences, when the ledger
// and the database differ.
var errLedger = errors.New("the ledger and the database differ")

// do runs the campaign. The error wraps errLedger if something was lost, doubled
// or oversold.
func (c campaign) do(ctx context.Context) (rep report, err error) {
	r := &run{campaign: c, rand: rand.New(rand.NewPCG(c.seed, 0))}
	began := time.Now()
	stock, key, err := r.prepare()
	if r.server != nil {
		defer func() { r.server.Kill() }()
	}
	if err != nil {
		return rep, err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute+time.Duration(c.cycles)*20*time.Second)
	defer cancel()
	l := newLedger(stock)
	r.buyers = startBuyers(ctx, buyersAtOnce, c.seed, key, r.server.URL, l)
	r.feed = startListener(ctx, key, &r.buyers.url)
	defer r.feed.stop()
	if err = r.suffer(began); err != nil {
		cancel() // there may be no server any more to wait for
	}
	if ended := r.buyers.finish(); err == nil {
		err = ended
	}
	rep = report{
		faults: r.done, acknowledged: l.acknowledged(), cancelled: len(l.cancelled), refused: l.refused, replayed: l.replayed,
		retries: r.buyers.tries.Load(), took: time.Since(began),
	}
	if err != nil {
		return rep, err
	}
	return rep, r.settle(l)
}

// suffer breaks the server time and again.
func (r *run) suffer(began time.Time) error {
	for r.done < r.cycles && (r.length == 0 || time.Since(began) < r.length) {
		r.work(20 + r.rand.IntN(150))
		if err := r.fault(r); err != nil {
			return fmt.Errorf("fault %d: %w", r.done+1, err)
		}
		r.done++
		if r.buyers.ledger.differs() {
			break
		}
	}
	return nil
}

// work lets the buyers work until so many more answers are acknowledged, and
// reports whether they were within [servertest.Patience].
func (r *run) work(answers int) bool {
	enough := r.buyers.ledger.acknowledged() + answers
	for deadline := time.Now().Add(servertest.Patience); r.buyers.ledger.acknowledged() < enough && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // between two polls
	}
	return r.buyers.ledger.acknowledged() >= enough
}

// settle ends the server and holds its database against the ledger.
func (r *run) settle(l *ledger) error {
	if err := r.feed.finish(context.Background()); err != nil {
		return fmt.Errorf("the feed: %w", err)
	}
	l.heard(r.feed)
	if err := r.server.Stop(); err != nil {
		return fmt.Errorf("the server ended with %w\n%s", err, r.server.LogText())
	}
	export, err := petstore.Run(r.dir, append([]string{"export", "shop"}, r.where()...)...)
	if err != nil {
		return err
	}
	if err := l.audit(export); err != nil {
		return err
	}
	if _, err := petstore.Run(r.dir, append([]string{"doctor"}, r.where()...)...); err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	return nil
}

// A shop has so many pets and buyers.
const pets, buyersAtOnce = 8, 16

// prepare starts a server with a shop, and returns the stock of its pets: half
// of them are soon sold, the others never.
func (r *run) prepare() (stock map[int64]int64, key string, err error) {
	k, err := petstore.NewShop(r.dir, "shop", r.where()...)
	if err != nil {
		return nil, "", err
	}
	if err := r.start(); err != nil {
		return nil, "", err
	}
	if err := r.post(k.Key, "POST", "/categories", `{"name":"Kind"}`); err != nil {
		return nil, "", err
	}
	stock = map[int64]int64{}
	for id := int64(1); id <= pets; id++ {
		stock[id] = 60 + id%2*1_000_000
		if err := r.post(k.Key, "POST", "/pets", `{"name":"Pet","categoryId":1}`); err != nil {
			return nil, "", err
		}
		if err := r.post(k.Key, "PATCH", fmt.Sprintf("/inventory/%d", id), fmt.Sprintf(`{"quantity":%d}`, stock[id])); err != nil {
			return nil, "", err
		}
	}
	return stock, k.Key, nil
}

// where returns the flags that name the database.
func (r *run) where() []string {
	if r.db == "" {
		return nil
	}
	return []string{"--db=" + r.db}
}

// start starts the server, and tells the buyers where it is.
func (r *run) start() (err error) {
	server, err := petstore.Serve(servertest.Options{Dir: r.dir, LogDir: r.logs, Flags: append(r.where(), "--log-level=warn")})
	if server != nil {
		r.server = server
	}
	if err != nil {
		return err
	}
	if r.buyers != nil {
		r.buyers.url.Store(&server.URL)
	}
	return nil
}

func (r *run) post(key, method, path, body string) error {
	_, err := exchange(context.Background(), http.DefaultClient, servertest.Request{Method: method, URL: r.server.URL + path, Key: key, Body: body})
	return err
}

// kill ends the process at once, as the kernel does when memory runs out.
func kill(r *run) error {
	r.server.Kill()
	return r.start()
}

// hold fails the test unless the campaign ends well.
func hold(t *testing.T, c campaign) report {
	t.Helper()
	rep, err := c.do(t.Context())
	t.Log(rep)
	must(t, err)
	if rep.acknowledged < 10*rep.faults || rep.faults == 0 {
		t.Errorf("%v: too little to prove anything", rep)
	}
	return rep
}

// part is how many faults a long campaign puts into one database, before it is
// audited and the next one begins.
const part = 250

// A kind of campaign has so many faults in a short one.
type kind struct {
	name  string
	short int
	begin func(*testing.T) campaign // with what it needs, until the test ends
}

func kinds() []kind {
	return []kind{
		{"kill", 5, func(t *testing.T) campaign { return campaign{dir: t.TempDir(), fault: kill} }},
		{"ext4", 3, func(t *testing.T) campaign { return powerCuts(newLoop(t, "ext4", 1<<30)) }},
		{"xfs", 3, func(t *testing.T) campaign { return powerCuts(newLoop(t, "xfs", 1<<30)) }},
		{"disk", 5, func(t *testing.T) campaign {
			needStrace(t)
			return campaign{dir: t.TempDir(), fault: failInTurn}
		}},
		{"full", 5, func(t *testing.T) campaign {
			return campaign{dir: newLoop(t, "ext4", room).mount, logs: t.TempDir(), fault: full}
		}},
		{"promotion", 2, promotions},
		{"crash", 2, crashes},
	}
}

// TestCampaigns runs a short campaign of each kind.
func TestCampaigns(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := k.begin(t)
			c.seed, c.cycles = *seed, k.short
			hold(t, c)
		})
	}
}

// TestSoak runs long campaigns in turn, with a new seed for each part, for as
// long as the flags say.
func TestSoak(t *testing.T) { //nolint:paralleltest // it has the machine for itself
	if *soak == 0 && *volume == 0 {
		t.Skip("a long campaign runs with -args -soak=DURATION, as make soak does, or with -faults=NUMBER")
	}
	for i, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { k.run(t, *seed+uint64(i)<<32, *volume, *soak/time.Duration(len(kinds()))) })
	}
}

// run ends after so many faults, if that is not 0, else after so long.
func (k kind) run(t *testing.T, seed uint64, faults int, length time.Duration) {
	var sum report
	for began, n := time.Now(), uint64(0); ; n++ {
		left := length - time.Since(began)
		if faults > 0 && sum.faults >= faults || faults == 0 && left <= 0 {
			break
		}
		ok := t.Run("", func(t *testing.T) {
			c := k.begin(t)
			c.seed, c.cycles = seed+n, part
			if faults > 0 {
				c.cycles = min(part, faults-sum.faults)
			} else {
				c.length = left
			}
			sum = sum.plus(hold(t, c))
		})
		t.Log("in all: ", sum)
		if !ok {
			break
		}
	}
}

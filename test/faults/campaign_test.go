//go:build linux

package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
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

// A disk is where a campaign keeps its database.
type disk interface {
	dir() string
	cut() error // the power: what was not synchronized is gone
}

// folder is a disk whose power is never cut.
type folder string

func (f folder) dir() string { return string(f) }
func (f folder) cut() error  { return errors.New("the power of a folder cannot be cut") }

// A campaign lets buyers order through faults.
type campaign struct {
	binary servertest.Binary
	disk   disk
	seed   uint64
	buyers int           // 0 for as many as there are clients
	cycles int           // how many faults
	length time.Duration // the end comes after so long at the latest, unless it is 0
	flags  []string      // of serve
	db     string        // the URL of the database; "" for the file on the disk
	logs   string        // the folder of the servers' logs; "" for the disk
	load   int           // answers between two faults, on average; 0 for 95

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
	r.buyers = startBuyers(ctx, max(c.buyers, clients), c.seed, key, r.server.URL, l)
	r.feed = startListener(ctx, http.DefaultClient, key, &r.buyers.url)
	defer r.feed.end()
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
		mean := r.campaign.load
		if mean == 0 {
			mean = 95
		}
		r.work(mean/5 + r.rand.IntN(2*(mean-mean/5)))
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
	db, err := openTables(r.disk.dir(), r.db)
	if err != nil {
		return err
	}
	defer db.close()
	if err := l.audit(db); err != nil {
		return fmt.Errorf("the audit: %w", err)
	}
	if _, err := petstore.Run(r.disk.dir(), append([]string{"doctor"}, r.where()...)...); err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	return nil
}

// A shop has so many pets.
const pets = 8

// prepare starts a server with a shop, and returns the stock of its pets: half
// of them are soon sold, the others never.
func (r *run) prepare() (stock map[int64]int64, key string, err error) {
	k, err := r.binary.NewShop(r.disk.dir(), "shop", r.where()...)
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
	server, err := r.binary.Serve(servertest.Options{Dir: r.disk.dir(), LogDir: r.logs, Flags: slices.Concat([]string{"--log-level=warn"}, r.where(), r.flags)})
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
	_, err := exchange(context.Background(), http.DefaultClient, method, r.server.URL+path, key, body, "")
	return err
}

// kill ends the process at once, as the kernel does when memory runs out.
func kill(r *run) error {
	r.server.Kill()
	return r.start()
}

// cutPower makes the disk forget what was not synchronized, ends the process,
// and starts both again. The process is frozen first: without power nothing is
// acknowledged, and a filesystem tells an fsync that its shutdown overtakes now
// and then that it succeeded.
func cutPower(r *run) error {
	if err := freeze(r.server.Cmd.Process.Pid); err != nil {
		return err
	}
	if err := r.disk.cut(); err != nil {
		return err
	}
	r.server.Kill()
	if err := r.disk.(*loop).remount(); err != nil {
		return err
	}
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

func TestKill(t *testing.T) {
	t.Parallel()
	hold(t, campaign{binary: petstore, disk: folder(t.TempDir()), seed: *seed, cycles: 10, fault: kill})
}

func TestPowerCut(t *testing.T) {
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			hold(t, campaign{binary: petstore, disk: newLoop(t, kind), seed: *seed, cycles: 4, fault: cutPower})
		})
	}
}

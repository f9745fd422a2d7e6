package console

import (
	"cmp"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/ratelimit"
)

// A Gate stands before the console on the public listener. It counts and bounds the requests of sessions together with
// those of the API.
type Gate interface {
	// Wait returns how long an attempt to sign in must wait, or 0 if it may be made.
	Wait() time.Duration
	// Addr returns the address of the client.
	Addr() netip.Addr
	// Admit decides on one request of a key, as on one of the API, and the response tells so.
	Admit(e *access.Entry[*ratelimit.Caller]) ratelimit.Decision
	// Show has the response tell a decision that counted nothing.
	Show(e *access.Entry[*ratelimit.Caller], d ratelimit.Decision)
	// Hold counts size bytes that the page keeps in memory until it is answered, such as a file that comes. The client must
	// be refused if it holds as much as it may.
	Hold(size int64) error
	// Enter waits for room among the reads or the writes. Whoever was let in must leave.
	Enter(write bool) (leave func(), err error)
}

// A cost is what a request of a session counts against.
type cost uint8

const (
	costPage cost = iota // the allowance of pages
	costPlan             // the plan, like a request of the API
	costNone             // nothing: one can always sign out
)

// DefaultPages is how many pages the sessions of a workspace may read from one address in a minute.
const DefaultPages = 60

// errRefused says that the refusal is answered.
const errRefused notice = "refused"

// admit counts the request of a session. It answers a refusal itself, and returns errRefused.
func (v *visit) admit(c cost) error {
	if v.who == nil || c == costNone {
		return nil
	}
	if c == costPlan {
		return v.admitOne()
	}
	v.limits = keyLimits{v.Limiter.Peek(v.r.Context(), v.who.Slot)}
	d := v.limits.Decision
	most := int64(cmp.Or(v.PagesPerMinute, DefaultPages))
	wait := v.pageCount.take(reader{v.who.Workspace.ID, v.gate.Addr()}, v.Now(), most)
	if wait == 0 {
		v.gate.Show(v.who, d)
		return nil
	}
	d.Outcome, d.RetryAfter = ratelimit.RefusedMinute, wholeSeconds(wait)
	d.Minute = ratelimit.Window{Limit: most, Used: most, Reset: v.Now().Add(wait).Unix()}
	v.gate.Show(v.who, d)
	v.tooMany(d.RetryAfter, "Too many pages", "From one address "+number(most)+" pages of a workspace can be read in a minute.")
	return errRefused
}

// admitOne counts one request against the plan.
func (v *visit) admitOne() error {
	d := v.gate.Admit(v.who)
	v.limits = keyLimits{d}
	if d.Admitted() {
		return nil
	}
	if d.Outcome == ratelimit.Unavailable {
		v.retryAfter(d.RetryAfter)
		v.refuse(http.StatusServiceUnavailable, "Requests cannot be counted at the moment", v.nothingDone())
		return errRefused
	}
	return v.refuseByLimits()
}

// refuseByLimits answers that the key can do nothing now, and returns errRefused.
func (v *visit) refuseByLimits() error {
	title, text := v.limits.words()
	v.tooMany(v.limits.RetryAfter, title, text+" "+v.nothingDone())
	return errRefused
}

// nothingDone says what a refusal left as it was.
func (v *visit) nothingDone() string {
	if v.r.Method == http.MethodPost {
		return "Nothing was changed; what you entered is still there if you go back."
	}
	return "Nothing was sent; a download counts as a request for each hundred rows."
}

// tooMany answers with a page that says why, and until when.
func (v *visit) tooMany(retryAfter int64, title, text string) {
	v.retryAfter(retryAfter)
	v.refuseUntil(http.StatusTooManyRequests, refusal{Title: title, Text: text, Until: v.Now().Add(time.Duration(retryAfter) * time.Second)})
}

func (v *visit) retryAfter(seconds int64) {
	v.w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
}

func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// keyLimits are how a key stands with its ban and its workspace's windows.
type keyLimits struct{ ratelimit.Decision }

// banned returns the end of the ban, or the zero time.
func (s keyLimits) banned() time.Time {
	if s.Outcome != ratelimit.Banned {
		return time.Time{}
	}
	return time.Unix(s.BannedUntil, 0).UTC()
}

// spent returns the full window that starts afresh last, or one without a limit if neither is full.
func (s keyLimits) spent() (w ratelimit.Window, name string) {
	if s.Minute.Limit > 0 && s.Minute.Remaining() == 0 {
		w, name = s.Minute, "minute"
	}
	if s.Day.Limit > 0 && s.Day.Remaining() == 0 && s.Day.Reset >= w.Reset {
		w, name = s.Day, "day"
	}
	return w, name
}

// until returns when the key can ask again: at the end of the ban or of the full window, whichever is later. It is the
// zero time if the key can ask now.
func (s keyLimits) until() time.Time {
	end := s.banned()
	if w, name := s.spent(); name != "" && time.Unix(w.Reset, 0).After(end) {
		end = time.Unix(w.Reset, 0).UTC()
	}
	return end
}

// words say why the key cannot ask now, or "".
func (s keyLimits) words() (title, text string) {
	w, name := s.spent()
	switch banned := s.banned(); {
	case banned.IsZero() && name == "":
		return "", ""
	case banned.IsZero():
		title = "The requests of this " + name + " are used up"
		return title, "The plan has " + number(w.Limit) + " requests a " + name + ", and what you change or download here counts too."
	case name != "" && time.Unix(w.Reset, 0).After(banned):
		return "The requests of this " + name + " are used up", "The key is banned besides, until " + inWords(banned) + "."
	}
	return "This key is banned", "You can still look at these pages, but change or download nothing. The API refuses its requests."
}

// A reader reads pages: a workspace's session at an address.
type reader struct {
	workspace int64
	network   netip.Addr
}

// A pageCount counts the pages of each reader in the minute of the clock. It lives as long as this process and counts
// for it alone.
type pageCount struct {
	mu     sync.Mutex
	minute time.Time
	read   map[reader]int64
}

// take counts one page. It returns how long to wait if there were too many; then it counts nothing.
func (p *pageCount) take(by reader, now time.Time, most int64) (wait time.Duration) {
	by.network = fairshare.HolderAt(by.network).Address
	minute := now.Truncate(time.Minute)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.minute.Equal(minute) {
		p.minute, p.read = minute, make(map[reader]int64)
	}
	if p.read[by] >= most {
		return minute.Add(time.Minute).Sub(now)
	}
	p.read[by]++
	return 0
}

// gated does something once there is room for it among the reads or the writes.
func (v *visit) gated(write bool, do func() error) error {
	if v.gate == nil { // the operator's
		return do()
	}
	leave, err := v.gate.Enter(write)
	if err != nil {
		return err
	}
	defer leave()
	return do()
}

// A limitNote says on every page that the key cannot ask now, and until when. It is empty if it can.
type limitNote struct {
	Title string    `json:"title"`
	Text  string    `json:"text"`
	Until time.Time `json:"until,omitzero"`
}

func (s keyLimits) note() limitNote {
	title, text := s.words()
	return limitNote{title, text, s.until()}
}

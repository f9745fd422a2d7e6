package console

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/ratelimit"
)

// A Gate counts and limits the console's requests together with those of the API.
type Gate interface {
	// Wait returns how long an attempt to sign in must wait, or 0 if it may be made.
	Wait() time.Duration
	// Addr returns the address of the client.
	Addr() netip.Addr
	// Admit counts one request of a key and returns the limiter's decision, as for a request
	// of the API. It sets the headers.
	Admit(e *access.Entry[*ratelimit.Caller]) ratelimit.Decision
	// Show sets the headers to a decision that counted nothing.
	Show(e *access.Entry[*ratelimit.Caller], d ratelimit.Decision)
	// Hold counts size bytes that the page keeps in memory until it is answered, such as an uploaded file. It returns
	// an error if the client must be refused, since it holds as much as it may.
	Hold(size int64) error
	// Enter waits until another read or write may be carried out. The caller must call
	// leave.
	Enter(write bool) (leave func(), err error)
}

// A visit is one request of a user with a key, or of one who is not signed in.
type visit struct {
	*page.Visit
	*Console
	gate   Gate
	who    *access.Entry[*ratelimit.Caller] // nil unless signed in
	limits page.KeyLimits                   // of the key, once the request was counted
}

func (v *visit) Identify(s *access.Session) (err error) {
	if s.KeyID == "" { // an operator's
		return page.ErrSession
	}
	if v.who == nil { // otherwise IdentifyAgain checks the session again
		v.R = v.R.WithContext(petstore.ByKey(v.R.Context(), s.KeyID))
	}
	v.who, err = entryOf(v, s.KeyID)
	if err == nil && v.Sandboxes != nil && v.who.Workspace.Sandbox != nil {
		v.R = v.R.WithContext(petstore.WithRowLimit(v.R.Context(), v.Sandboxes.RowLimit(v.who.Workspace)))
	}
	return err
}

// Admit implements page.Guest. A form that changes something counts as a request of the API; other pages and
// downloads count against the allowance of pages.
func (v *visit) Admit(r *page.Route) error {
	if r != nil && r.Free {
		return nil
	}
	if r != nil && r.Method == http.MethodPost {
		return v.spend()
	}
	v.limits = page.KeyLimits{Decision: v.Limiter.Peek(v.who.Attachment)}
	d := v.limits.Decision
	if d.Outcome == ratelimit.Banned && (r == nil || r.Download) {
		v.gate.Show(v.who, d)
		return v.refuseByLimits()
	}
	if r == nil {
		return nil
	}
	wait := v.allowance.take(reader{v.who.Workspace.ID, fairshare.HolderAt(v.gate.Addr()).Address, v.Follows()}, v.Now())
	if wait > 0 {
		d.Outcome, d.RetryAfter = ratelimit.RefusedMinute, page.WholeSeconds(wait)
		d.Minute = ratelimit.Window{Limit: v.allowance.most, Used: v.allowance.most, Reset: v.Now().Add(wait).Unix()}
	}
	v.gate.Show(v.who, d)
	if wait == 0 {
		return nil
	}
	return v.tooMany("Too many pages", "From one address "+page.Number(v.allowance.most)+" pages and downloads of a workspace can be read in a minute.", d.RetryAfter)
}

// spend counts one request against the plan. It answers a refusal itself, and returns ErrRefused.
func (v *visit) spend() error {
	v.limits = page.KeyLimits{Decision: v.gate.Admit(v.who)}
	switch {
	case v.limits.Admitted():
		return nil
	case v.limits.Outcome == ratelimit.Unavailable:
		v.RetryAfter(v.limits.Decision.RetryAfter)
		return v.Refuse(http.StatusServiceUnavailable, "Requests cannot be counted at the moment", nothingChanged)
	}
	return v.refuseByLimits()
}

const nothingChanged = "Nothing was changed; what you entered is still there if you go back."

// refuseByLimits answers that the key cannot be used now, and returns ErrRefused.
func (v *visit) refuseByLimits() error {
	note := v.limits.Note()
	if v.R.Method == http.MethodPost {
		note.Text += " " + nothingChanged
	}
	return v.tooMany(note.Title, note.Text, v.limits.Decision.RetryAfter)
}

// tooMany answers that there were too many requests and how long to wait, and returns
// ErrRefused.
func (v *visit) tooMany(title, text string, retryAfter int64) error {
	v.limits = page.KeyLimits{} // the page says it
	v.RetryAfter(retryAfter)
	why := page.Refusal{Title: title, Text: text, Until: v.Now().Add(time.Duration(retryAfter) * time.Second)}
	_ = v.Render(http.StatusTooManyRequests, "refused", title, why)
	return page.ErrRefused
}

func (v *visit) Enter(write bool) (leave func(), err error) { return v.gate.Enter(write) }

func (v *visit) May(scopes access.Scopes) bool { return v.who.Key.Scopes.Has(scopes) }

func (v *visit) Locked() string {
	if v.limits.Banned().IsZero() {
		return ""
	}
	return "This key is banned."
}

// shop returns the id under which the pets, orders and events of the workspace are kept.
func (v *visit) shop() int64 { return v.who.Workspace.Shop }

func (v *visit) Workspace() int64 { return v.who.Workspace.ID }

func (v *visit) Describe(to *page.View) {
	if to.Docs = docsOf(v.R.URL.Path); v.Session == nil {
		return
	}
	to.Workspace, to.Plan, to.Key = access.Printable(v.who.Workspace.Name), string(v.who.Workspace.Plan), access.Printable(v.who.Key.Name)
	to.Limits = v.limits.Note()
	switch {
	case !v.limits.Banned().IsZero():
		to.Cannot = "which is banned"
	case v.who.Key.Scopes == access.Read:
		to.Cannot = "which can only read"
	}
	to.Manage, to.Events = v.May(access.Manage), v.Events != nil
}

// inPath calls get with the id in the path.
func inPath[T any](v *visit, get func(ctx context.Context, workspace, id int64) (T, error)) (found T, err error) {
	id, err := page.NumberOf(v.ID)
	if err != nil {
		return found, err
	}
	return get(v.R.Context(), v.shop(), id)
}

// An allowance is how many pages may be read in a minute of the clock: by the sessions of a workspace, from one network. It
// lives as long as this process and counts for it alone.
type allowance struct {
	most int64

	mu     sync.Mutex
	minute time.Time
	read   map[reader]int64
}

type reader struct {
	workspace int64
	network   netip.Addr
	follows   bool // the page's script reads, which is counted apart from the pages that the user opens
}

// take counts one page. It returns how long to wait if there were too many; then it counts nothing.
func (a *allowance) take(by reader, now time.Time) (wait time.Duration) {
	minute := now.Truncate(time.Minute)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.minute.Equal(minute) {
		a.minute, a.read = minute, make(map[reader]int64)
	}
	if a.read[by] >= a.most {
		return minute.Add(time.Minute).Sub(now)
	}
	a.read[by]++
	return 0
}

package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/sandbox"
)

// sandboxRoutes returns the operations that create and reset workspaces for visitors, if
// there are any.
func (a *API) sandboxRoutes() []route {
	if a.o.Sandboxes == nil {
		return nil
	}
	return []route{
		{at: "POST /sandboxes", id: "createSandbox", handle: withBody(readContents, a.createSandbox), body: optionalBody, keyless: true},
		{at: "POST /account/reset", id: "resetSandbox", scope: access.Write, handle: withBody(readContents, a.resetSandbox), body: optionalBody},
	}
}

// createSandbox creates a sandbox for the address of the client.
func (a *API) createSandbox(x *exchange, asked contents) error {
	made, err := a.o.Sandboxes.Create(x.ctx, x.addr, cmp.Or(string(asked.Catalogue), sandbox.Catalogues[0]), a.o.Sandboxes.Scopes())
	if err != nil {
		return err
	}
	x.send(http.StatusCreated, "application/json", fmt.Appendf(nil, `{"workspace":{"id":%d,"name":%s},"key":"%s","expiresAt":%s,"console":%s}`,
		made.ID, petstore.JSON(made.Name), made.Secrets[0], petstore.JSON(made.Sandbox.ExpiresAt), petstore.JSON(a.o.BaseURL+a.o.SignIn(made.Keys[0].ID))))
	return nil
}

func (a *API) resetSandbox(x *exchange, asked contents) error {
	return x.sendDone(a.o.Sandboxes.Reset(x.ctx, x.entry.Workspace, string(asked.Catalogue)))
}

// contents are the body of createSandbox and resetSandbox.
type contents struct {
	Catalogue catalogue `json:"catalogue,omitzero"`
}

// A catalogue is the name of what a sandbox begins with, or "".
type catalogue string

var readContents = decode(contents{})

func (f *form) catalogue(m member) catalogue {
	text := f.text(m)
	if text != "" && !slices.Contains(sandbox.Catalogues, text) {
		f.add("/catalogue", petstore.InvalidEnum, "catalogue must be %s, not %.40q.", strings.Join(sandbox.Catalogues, ", "), text)
	}
	return catalogue(text)
}

// useCurrentShop has a request to a sandbox use the sandbox's present shop, which changes when
// any node resets it, and limits how many rows the request may create there.
func (a *API) useCurrentShop(x *exchange) (err error) {
	if x.entry == nil || x.entry.Workspace.Sandbox == nil {
		return nil
	}
	if x.entry, err = access.Current(x.ctx, a.o.Access, x.entry); err == nil && a.o.Sandboxes != nil {
		x.ctx = petstore.WithRowLimit(x.ctx, a.o.Sandboxes.RowLimit(x.entry.Workspace))
	}
	return err
}

// simulate applies the fault that a request to a sandbox asks for. A fault of the connection
// takes effect when the request is answered.
func (a *API) simulate(x *exchange) error {
	if x.entry == nil || x.entry.Workspace.Sandbox == nil || a.o.Sandboxes == nil || x.r.Header[simulateHeader] == nil {
		return nil
	}
	f, failure, err := readFault(x.route, x.r.Header[simulateHeader])
	if err != nil {
		return err
	}
	if err := a.useCurrentShop(x); err != nil { // the simulator counts by shop
		return err
	}
	if !a.o.Sandboxes.Simulator.Applies(x.entry.Workspace.Shop, &f) {
		return nil
	}
	x.set("Petstore-Simulated", f.String())
	if f.Latency > 0 {
		a.wait(x, f.Latency)
	}
	if x.breaks = f.Connection; x.breaks == sandbox.RefuseAnswer {
		panic(http.ErrAbortHandler)
	}
	switch {
	case failure == nil && f.Sunset:
		return a.sunset.ended()
	case failure == nil:
		return nil
	case failure.Code == codeRateLimitExceeded:
		setLimits(x, usedUp(x.decision, x.began.Add(failure.RetryAfter).Unix(), int64(failure.RetryAfter/time.Second)))
	}
	return failure
}

const simulateHeader = "Petstore-Simulate"

// readFault parses the values of Petstore-Simulate. failure is the error of the fault's
// code, or nil if it has none.
func readFault(r *route, asked []string) (f sandbox.Fault, failure *petstore.Error, err error) {
	f, err = sandbox.ParseFault(asked[0])
	switch {
	case len(asked) > 1:
		err = badParameter(simulateHeader, "%s: it may be sent once only.", simulateHeader)
	case err != nil:
		err = badParameter(simulateHeader, "%s: %v.", simulateHeader, err)
	case f.Sunset && !r.deprecated:
		err = badParameter(simulateHeader, "%s: this operation does not end.", simulateHeader)
	case f.Code != "":
		failure, err = simulated(r, &f)
	}
	return f, failure, err
}

// usedUp returns the decision that refuses a request because the limit of the minute is
// used up.
func usedUp(d ratelimit.Decision, reset, retryAfter int64) *ratelimit.Decision {
	d.Outcome, d.RetryAfter = ratelimit.RefusedMinute, retryAfter
	d.Minute.Used, d.Minute.Reset = d.Minute.Limit, reset
	return &d
}

// wait waits for the latency. It holds only the connection meanwhile. If the client
// disconnects or the service ends, the request is not carried out.
func (a *API) wait(x *exchange, latency time.Duration) {
	c := http.NewResponseController(x.w)
	_ = c.SetReadDeadline(time.Now().Add(latency + readTimeout)) // if there is no deadline to set, none is needed
	_ = c.SetWriteDeadline(time.Now().Add(latency + writeTimeout))
	over := time.NewTimer(latency)
	defer over.Stop()
	select {
	case <-over.C:
		x.waited += latency
	case <-x.r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-a.o.Done:
		panic(http.ErrAbortHandler)
	}
}

// breakOff closes the connection instead of sending the answer, or after half of it.
func (x *exchange) breakOff() {
	if x.breaks == sandbox.CutAnswer && x.ready != 0 {
		x.WriteHeader(x.ready)
		if half := x.answer[:len(x.answer)/2]; x.r.Method != http.MethodHead && len(half) > 0 {
			_, _ = x.Write(half) // the error means that the client has disconnected
		}
		_ = http.NewResponseController(x.w).Flush()
	} else if x.status == 0 {
		x.status = x.ready // for the log
	}
	panic(http.ErrAbortHandler)
}

// simulated returns the documented error of the code that a fault names.
func simulated(r *route, f *sandbox.Fault) (*petstore.Error, error) {
	all := documented()[r.id]
	e, there := all[petstore.Code(f.Code)]
	switch {
	case !there:
		codes := listed(slices.Sorted(maps.Keys(all)))
		return nil, badParameter(simulateHeader, "%s: %s has no code %.40q; it has %s.", simulateHeader, r.id, f.Code, codes)
	case f.RetryAfter > 0 && e.RetryAfter == 0:
		return nil, badParameter(simulateHeader, "%s: the answer to %s has no Retry-After.", simulateHeader, f.Code)
	}
	e.RetryAfter = cmp.Or(f.RetryAfter, e.RetryAfter)
	return &e, nil
}

// documented returns the errors of all operations, as the OpenAPI description shows
// them.
var documented = sync.OnceValue(func() map[string]map[petstore.Code]petstore.Error {
	d, all := api.Parse(), map[string]map[petstore.Code]petstore.Error{}
	for _, operation := range d.Operations() {
		errors := map[petstore.Code]petstore.Error{}
		for _, r := range operation.Responses {
			response := d.Response(r.Value)
			body, _ := response.Content.Get("application/json")
			for _, code := range response.Codes {
				example, _ := body.Examples.Get(code)
				errors[petstore.Code(code)] = shownBy(example)
			}
		}
		all[operation.OperationID] = errors
	}
	return all
})

// shownBy returns the error that an example shows. If its answers have Retry-After, that is a second.
func shownBy(example *api.Example) petstore.Error {
	var e errorBody
	if err := json.Unmarshal(example.Value, &e); err != nil {
		panic(err) // the description is part of the program
	}
	shown := petstore.Error{Code: e.Code, Message: e.Message, Fields: e.Errors}
	if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable || e.Code == petstore.CodeIdempotencyInProgress {
		shown.RetryAfter = time.Second
	}
	return shown
}

package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/usage"
)

// A requestPage is one request of the log.
type requestPage struct {
	request
	Facts   []fact
	Refused *refused // nil unless it was refused by the limits
	Curl    string   // "" if it cannot be sent again like this
	HasBody bool
}

// refused says why a request was refused, and how the key stands now.
type refused struct {
	Why         string
	Until       time.Time // when it could be sent again
	Now         []meter
	StrikesLeft int       // before the key is banned; 0 while it is
	BannedUntil time.Time // zero unless a ban runs
}

// showRequest shows a request that the log still has: what was asked, what became of it, and why.
func showRequest(v *visit) error {
	events := v.Usage.Latest(v.who.Workspace.ID)
	i := slices.IndexFunc(events, func(e usage.Event) bool { return e.RequestID == v.id })
	if i < 0 {
		v.refuse(http.StatusNotFound, "This request is not in the log",
			"The log holds the latest few hundred successes, errors and refusals that this server answered since it started. The server's own log may have it.")
		return nil
	}
	keys, err := v.knownKeys()
	if err != nil {
		return err
	}
	e := &events[i]
	p := requestPage{request: v.requestOf(e, keyNames(keys)), Refused: v.refusedBy(e), Curl: v.curl(e)}
	p.HasBody = strings.Contains(p.Curl, "body.json")
	p.Facts = []fact{{"Took", cell{Text: p.Took}}, {"Key", cell{Text: p.Key, Name: true}}, {"Request id", cell{Text: p.Request, Code: true}}}
	if e.Operation != "" {
		p.Facts = append(p.Facts, fact{"Operation", cell{Text: e.Operation, Code: true}})
	}
	return v.render(http.StatusOK, "request", "Request", p)
}

// refusedBy returns why the limits refused a request, or nil if they did not.
func (v *visit) refusedBy(e *usage.Event) *refused {
	why := map[string]string{
		"minute": "The " + number(e.Limit) + " requests of the minute were spent. All keys of the workspace share them, and so does what is changed in this console.",
		"day":    "The " + number(e.Limit) + " requests of the UTC day were spent. All keys of the workspace share them, and so does what is changed in this console.",
		"banned": "The key was banned, because it kept sending requests after it was told to wait, or by the operator.",
	}[e.Refused]
	if why == "" {
		return nil
	}
	r := &refused{Why: why, Until: time.Unix(e.Until, 0).UTC()}
	if entry := v.Keys.Entry(e.KeyID); entry != nil {
		now := keyLimits{v.Limiter.Peek(v.r.Context(), entry.Slot)}
		r.Now = []meter{meterOf("This minute", now.Minute), meterOf("Today (UTC)", now.Day)}
		r.StrikesLeft, r.BannedUntil = now.StrikesLeft, now.banned()
	}
	return r
}

// curl returns the command that sends the request again, without the key; "" of one that the log has cut, and of the console's own.
func (v *visit) curl(e *usage.Event) string {
	if within("/console", e.Path) || strings.Contains(target(e), "…") {
		return ""
	}
	address := v.base() + (&url.URL{Path: e.Path, RawQuery: e.Query}).String()
	command := "curl -i " + quoted(address)
	switch e.Method {
	case http.MethodGet:
	case http.MethodHead:
		command = "curl -I " + quoted(address)
	default:
		command = "curl -i -X " + e.Method + " " + quoted(address)
	}
	command += " \\\n  -H \"Authorization: Bearer $PETSTORE_KEY\""
	switch e.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		command += " \\\n  -H 'Content-Type: application/json' --data @body.json"
	}
	return command
}

// quoted returns text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// base returns where the reader's browser finds the service.
func (v *visit) base() string {
	if v.BaseURL != "" {
		return strings.TrimSuffix(v.BaseURL, "/")
	}
	scheme := "http://"
	if v.r.TLS != nil {
		scheme = "https://"
	}
	return scheme + v.r.Host
}

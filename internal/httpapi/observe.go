package httpapi

import (
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

// An Observation describes a response, for metrics and statistics.
type Observation struct {
	usage.Event // without the keys in its path and query; Method is one of the methods of HTTP, or "OTHER"

	Workspace int64  // of the caller; 0 without a valid key
	Plan      string // of the caller; "" without a valid key
	Pattern   string // of the path, or ""
	Outcome   string // "admitted", "minute", "day", "banned", or "free" if it spends no quota
}

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// report logs and measures a request that was answered.
func (x *exchange) report() {
	answered := x.env.now()
	took := answered.Sub(x.began) - x.waited
	o := Observation{Pattern: x.path.pattern, Outcome: "free", Event: usage.Event{
		At: x.began, RequestID: x.id, Method: "OTHER", Path: redact(x.r.URL.Path), Query: redactQuery(x.r.URL.RawQuery),
		Status: x.status, Code: string(x.code), Duration: took, Console: strings.HasPrefix(x.path.pattern, "/console"),
	}}
	if slices.Contains(knownMethods, x.r.Method) {
		o.Method = x.r.Method
	}
	if x.route != nil {
		o.Operation, o.Deprecated = x.route.id, x.route.deprecated
	}
	if x.counted || x.decision.Outcome == ratelimit.Banned {
		o.Outcome = x.decision.Outcome.String()
	}
	if x.status == http.StatusTooManyRequests && !x.decision.Admitted() {
		by := x.decision.Headline()
		o.Refused, o.Limit, o.Until = o.Outcome, by.Limit, by.Reset
	}
	if x.entry != nil {
		o.Plan, o.Workspace, o.KeyID = string(x.entry.Workspace.Plan), x.entry.Workspace.ID, x.entry.Key.ID
	}
	x.env.observe(x.ctx, o)
	switch {
	case !x.env.log.Enabled(x.ctx, slog.LevelInfo):
	case x.env.access != nil:
		var attrs [maxAttrs]slog.Attr
		x.env.access.add(answered, appendAttrs(attrs[:0], x, &o))
	default:
		x.env.log.LogAttrs(x.ctx, slog.LevelInfo, "request", appendAttrs(nil, x, &o)...)
	}
}

const maxAttrs = 11

// appendAttrs appends the attributes of the line of a request. The query is left out,
// and whatever looks like a key in the path is cut, since people paste keys everywhere.
func appendAttrs(attrs []slog.Attr, x *exchange, o *Observation) []slog.Attr {
	attrs = append(attrs,
		slog.String("request_id", x.id),
		slog.String("method", o.Method),
		slog.String("path", o.Path),
		slog.String("operation", o.Operation),
		slog.Int("status", o.Status),
		slog.Int64("bytes", x.sent),
		slog.Float64("ms", float64(o.Duration.Microseconds())/1000),
		slog.String("limit", o.Outcome),
	)
	if x.code != "" {
		attrs = append(attrs, slog.String("code", string(x.code)))
	}
	switch {
	case x.entry != nil:
		return append(attrs, slog.Int64("workspace", x.entry.Workspace.ID), slog.String("key", x.entry.Key.ID))
	case x.operator != nil:
		return append(attrs, slog.String("token", x.operator.ID))
	}
	return append(attrs, slog.String("address", x.addr.String()))
}

var keyLike = regexp.MustCompile(`(ps[to]_)[0-9A-Za-z]+`)

// redactQuery cuts what may be a key. It cuts the whole query if a key may be hidden by
// escapes.
func redactQuery(query string) string {
	if text, err := url.QueryUnescape(query); err != nil || text != query && mayHaveKey(text) {
		return "…"
	}
	return redact(query)
}

func mayHaveKey(text string) bool {
	return strings.Contains(text, access.Prefix) || strings.Contains(text, access.TokenPrefix)
}

// redact cuts what may be a key, and what is too long to log.
func redact(path string) string {
	const most = 256
	if mayHaveKey(path) {
		path = keyLike.ReplaceAllString(path, "${1}…")
	}
	if len(path) > most {
		path = path[:most] + "…"
	}
	return path
}

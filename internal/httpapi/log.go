package httpapi

import (
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/ratelimit"
)

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// report logs and measures the exchange, when it is over.
func (x *exchange) report(took time.Duration) {
	o := Observation{
		At: x.began, RequestID: x.id, Path: redact(x.r.URL.Path), Code: string(x.code),
		Method: "OTHER", Status: x.status, Duration: took, Outcome: "free",
	}
	if slices.Contains(knownMethods, x.r.Method) {
		o.Method = x.r.Method
	}
	if x.route != nil {
		o.Operation = x.route.id
	}
	if x.counted || x.decision.Outcome == ratelimit.Banned {
		o.Outcome = x.decision.Outcome.String()
	}
	if x.entry != nil {
		o.Plan, o.Workspace, o.KeyID = string(x.entry.Workspace.Plan), x.entry.Workspace.ID, x.entry.Key.ID
	}
	x.api.Observe(o)
	switch {
	case !x.api.Log.Enabled(x.r.Context(), slog.LevelInfo):
	case x.api.AccessLog != nil:
		x.api.AccessLog.add(x, &o)
	default:
		x.logLine(o)
	}
}

// logLine writes the one line of the request. The query is left out, and what
// looks like a key in the path is cut: people paste keys everywhere.
func (x *exchange) logLine(o Observation) {
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("request_id", x.id),
		slog.String("method", o.Method),
		slog.String("path", o.Path),
		slog.String("operation", o.Operation),
		slog.Int("status", o.Status),
		slog.Int64("bytes", x.sent),
		slog.Float64("ms", milliseconds(o.Duration)),
		slog.String("limit", o.Outcome),
	)
	if x.code != "" {
		attrs = append(attrs, slog.String("code", string(x.code)))
	}
	if x.entry != nil {
		attrs = append(attrs, slog.Int64("workspace", x.entry.Workspace.ID), slog.String("key", x.entry.Key.ID))
	} else {
		attrs = append(attrs, slog.String("address", x.addr.String()))
	}
	x.api.Log.LogAttrs(x.r.Context(), slog.LevelInfo, "request", attrs...)
}

var keyLike = regexp.MustCompile(`pst_[0-9A-Za-z]+`)

// redact cuts what may be a key, and what is too long to log.
func redact(path string) string {
	const most = 256
	if strings.Contains(path, "pst_") {
		path = keyLike.ReplaceAllString(path, "pst_…")
	}
	if len(path) > most {
		path = path[:most] + "…"
	}
	return path
}

// log writes the cause of a failure, which the client is not told.
func (x *exchange) log(err error) {
	x.api.Log.ErrorContext(x.r.Context(), "request failed", "request_id", x.id, "err", err)
}

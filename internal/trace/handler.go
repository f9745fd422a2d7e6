package trace

import (
	"context"
	"net/http"
	"net/netip"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"
)

// Handler returns next with a span around each request, of kind server, by the
// semantic conventions of HTTP. Describe names it after the method and the pattern of
// the route. Neither the path nor the query is in it: people paste keys there.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, options := t.parent(r)
		ctx, span := t.tracer.Start(ctx, "HTTP", options...)
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// parent returns the context of the trace that a request is a part of, and how
// its span is to be started.
func (t *Tracer) parent(r *http.Request) (context.Context, []api.SpanStartOption) {
	options := []api.SpanStartOption{api.WithSpanKind(api.SpanKindServer)}
	remote := t.context.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	from := api.SpanContextFromContext(remote)
	if !from.IsValid() || t.trusts(r.RemoteAddr) {
		return remote, options
	}
	return r.Context(), append(options, api.WithLinks(api.Link{SpanContext: from}))
}

func (t *Tracer) trusts(peer string) bool {
	at, err := netip.ParseAddrPort(peer)
	return err == nil && slices.ContainsFunc(t.trusted, func(p netip.Prefix) bool { return p.Contains(at.Addr().Unmap()) })
}

// Describe completes the span of the request with the context by what came of it. method is
// OTHER for one that is none of HTTP's, since names of spans must be few. pattern is that of
// the route, or "" if there is none.
func Describe(ctx context.Context, method, pattern string, status int, requestID string) {
	span := api.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	name, verb := method, method
	if method == "OTHER" {
		name, verb = "HTTP", "_OTHER"
	}
	if pattern != "" {
		name += " " + pattern
		span.SetAttributes(attribute.String("http.route", pattern))
	}
	span.SetName(name)
	span.SetAttributes(
		attribute.String("http.request.method", verb),
		attribute.Int("http.response.status_code", status),
		attribute.String("petstore.request_id", requestID),
	)
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}

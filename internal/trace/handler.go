package trace

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"
)

// Handler returns next with a span around each request, of kind server, by the
// semantic conventions of HTTP. It is named after the method and the pattern of
// the route. Neither the path nor the query is in it: people paste keys there.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, options := t.parent(r)
		ctx, span := t.tracer.Start(ctx, method(r), options...)
		defer span.End()
		if !span.IsRecording() {
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		inner, answer := r.WithContext(ctx), &answer{ResponseWriter: w}
		defer func() { describe(span, inner, answer) }()
		next.ServeHTTP(answer, inner)
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

// method returns the method, or HTTP for one that is none of HTTP's: names of
// spans must be few.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "HTTP"
}

// describe completes the span of a request. The mux of the handler below has
// left its pattern in the request.
func describe(span api.Span, r *http.Request, a *answer) {
	verb := method(r)
	if verb == "HTTP" {
		span.SetAttributes(attribute.String("http.request.method", "_OTHER"))
	} else {
		span.SetAttributes(attribute.String("http.request.method", verb))
	}
	if route := strings.TrimPrefix(r.Pattern, r.Method+" "); route != "" && route != "/" {
		span.SetName(verb + " " + route)
		span.SetAttributes(attribute.String("http.route", route))
	}
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if ids := a.Header()["X-Request-Id"]; len(ids) > 0 {
		span.SetAttributes(attribute.String("petstore.request_id", ids[0]))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}

// An answer remembers the status that passes through it.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader sends the status and the header.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Package trace records traces for OpenTelemetry: a span for each request, and its ids in
// the log. It is configured by the standard variables, above all OTEL_EXPORTER_OTLP_ENDPOINT. Without them, requests do
// not pass through this package.
package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// Wanted reports whether the environment asks for traces: OTEL_TRACES_EXPORTER
// is otlp, or OTEL_EXPORTER_OTLP_ENDPOINT or its form for traces is set, and
// neither OTEL_SDK_DISABLED nor OTEL_TRACES_EXPORTER says no. It returns an
// error that names the variable for an exporter or a protocol that we do not
// have: only OTLP over HTTP is built in.
func Wanted(getenv func(string) string) (bool, error) {
	exporter, from := getenv("OTEL_TRACES_EXPORTER"), variables(getenv)
	endpoint, _ := from.get("ENDPOINT")
	switch {
	case strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || exporter == "none":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not built in; the exporters are otlp and none", exporter)
	case exporter == "" && endpoint == "":
		return false, nil
	}
	if protocol, name := from.get("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("%s: %q is not built in; the protocol is http/protobuf", name, protocol)
	}
	return true, nil
}

// Options configure a Tracer.
type Options struct {
	Version string              // of the service
	Log     *slog.Logger        // is told of spans that could not be sent
	Getenv  func(string) string // of the standard variables, which the library reads itself apart from the exporter's

	// Trusted are the peers whose traceparent is the parent of a request's span. The
	// span only has a link to the traces of other peers.
	Trusted []netip.Prefix
}

// A Tracer records spans, and sends them in batches in the background. It may be used
// concurrently.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   api.Tracer
	context  propagation.TraceContext
	trusted  []netip.Prefix
}

// Start returns a Tracer with the settings of the standard variables: exporter,
// sampler, batches, limits and resource.
func Start(ctx context.Context, o Options) (*Tracer, error) {
	to, err := newCollector(o.Getenv)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	exporter, err := otlptrace.New(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return start(ctx, o, sdk.WithBatcher(exporter))
}

func start(ctx context.Context, o Options, to sdk.TracerProviderOption) (*Tracer, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "petstore"), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Warn("traces could not be sent", "err", err) }))
	provider := sdk.NewTracerProvider(to, sdk.WithResource(about))
	return &Tracer{provider: provider, tracer: provider.Tracer("example.com/petstore"), trusted: o.Trusted}, nil
}

// Stop sends the remaining spans, until ctx ends.
func (t *Tracer) Stop(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the last traces could not be sent: %w", err)
	}
	return nil
}

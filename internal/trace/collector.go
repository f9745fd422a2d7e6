package trace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/proto"
)

// A collector takes spans as OTLP over HTTP. It is the client of the library's exporter. The library's own client
// compiles gRPC into the program.
type collector struct {
	url    string
	header http.Header
	client *http.Client
}

// variables returns the value of an environment variable.
type variables func(string) string

// get returns the value of the variable of traces, or of all signals, and which of them it is.
func (v variables) get(name string) (value, variable string) {
	variable = "OTEL_EXPORTER_OTLP_TRACES_" + name
	if value = v(variable); value == "" {
		variable = "OTEL_EXPORTER_OTLP_" + name
		value = v(variable)
	}
	return value, variable
}

// newCollector returns the collector that the standard variables name. Its error names the variable that is wrong.
func newCollector(getenv func(string) string) (*collector, error) {
	from := variables(getenv)
	c := &collector{header: http.Header{"Content-Type": {"application/x-protobuf"}}}
	endpoint, variable := from.get("ENDPOINT")
	if c.url = endpoint; variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		c.url = strings.TrimSuffix(cmp.Or(endpoint, "http://localhost:4318"), "/") + "/v1/traces"
	}
	if u, err := url.Parse(c.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: must be an http or https URL", variable)
	}
	headers, variable := from.get("HEADERS")
	if err := addHeaders(c.header, headers); err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	timeout, variable := from.get("TIMEOUT")
	millis, err := strconv.ParseUint(cmp.Or(timeout, "10000"), 10, 31)
	if err != nil {
		return nil, fmt.Errorf("%s: must be a whole number of milliseconds", variable)
	}
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if value, variable := from.get(name); value != "" {
			return nil, fmt.Errorf("%s: is not built in; the roots of the system and of SSL_CERT_FILE are trusted", variable)
		}
	}
	c.client = &http.Client{Timeout: time.Duration(millis) * time.Millisecond}
	return c, nil
}

// addHeaders adds the header fields of a list such as "a=b,c=d%20e".
func addHeaders(to http.Header, list string) error {
	for pair := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return errors.New("must be NAME=VALUE, separated by commas, as HTTP allows them in a header")
		}
		to.Set(name, value)
	}
	return nil
}

// Start implements otlptrace.Client.
func (*collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. A batch that the collector does not take is lost.
func (c *collector) UploadTraces(ctx context.Context, batch []*spans.ResourceSpans) error {
	body, err := proto.Marshal(&spans.TracesData{ResourceSpans: batch}) // the same bytes as an ExportTraceServiceRequest
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = c.header.Clone()
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() // only read
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s answered %s", req.URL.Redacted(), resp.Status)
	}
	return nil
}

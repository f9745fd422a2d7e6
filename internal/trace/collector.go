package trace

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/proto"
)

// A collector takes spans as OTLP over HTTP. It is the client of the library's exporter. The library's own client does the
// same, but compiles gRPC into the program.
type collector struct {
	url     string
	header  http.Header
	gzip    bool
	timeout time.Duration // for a batch, with its retries; 0 for no limit
	wait    time.Duration // before the first retry; each further wait is twice as long
	client  *http.Client
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
	c := &collector{header: http.Header{"Content-Type": {"application/x-protobuf"}}, wait: time.Second}
	endpoint, variable := from.get("ENDPOINT")
	if c.url = endpoint; variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		c.url = strings.TrimSuffix(cmp.Or(endpoint, "http://localhost:4318"), "/") + "/v1/traces"
	}
	if u, err := url.Parse(c.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: must be an http or https URL", variable)
	}
	compression, variable := from.get("COMPRESSION")
	switch compression {
	case "", "none":
	case "gzip":
		c.gzip = true
		c.header.Set("Content-Encoding", "gzip")
	default:
		return nil, fmt.Errorf("%s: must be gzip or none", variable)
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
	c.timeout = time.Duration(millis) * time.Millisecond
	certificates, err := readCertificates(from)
	if err != nil {
		return nil, err
	}
	c.client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: certificates, IdleConnTimeout: 90 * time.Second}}
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

// readCertificates returns what a connection checks and shows, of the PEM files that variables name.
func readCertificates(from variables) (*tls.Config, error) {
	c := new(tls.Config)
	if roots, variable := from.get("CERTIFICATE"); roots != "" {
		text, err := os.ReadFile(roots)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: there is no certificate in %s", variable, roots)
		}
	}
	certificate, variable := from.get("CLIENT_CERTIFICATE")
	key, keyVariable := from.get("CLIENT_KEY")
	if certificate != "" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", variable, keyVariable, err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

// Start implements otlptrace.Client.
func (*collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client.
func (c *collector) UploadTraces(ctx context.Context, batch []*spans.ResourceSpans) error {
	body, err := proto.Marshal(&spans.TracesData{ResourceSpans: batch}) // the same bytes as an ExportTraceServiceRequest
	if err != nil {
		return err
	}
	if c.gzip {
		var small bytes.Buffer
		w := gzip.NewWriter(&small)
		_, _ = w.Write(body) // neither fails on a buffer
		_ = w.Close()
		body = small.Bytes()
	}
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	for wait := c.wait; ; wait *= 2 {
		later, err := c.post(ctx, body)
		if err == nil || !later {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// post sends a batch. It reports whether the collector may take it later.
func (c *collector) post(ctx context.Context, body []byte) (later bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header = c.header.Clone()
	resp, err := c.client.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close() // only read
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return false, nil
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		later = true
	}
	return later, fmt.Errorf("%s answered %s", req.URL.Redacted(), resp.Status)
}

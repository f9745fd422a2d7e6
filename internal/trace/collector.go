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
	"google.golang.org/protobuf/proto"
)

// A collector takes spans as OTLP over HTTP. It is the client of the library's exporter. The library's own client does the
// same, but compiles gRPC into the program.
type collector struct {
	url     string
	header  http.Header
	gzip    bool
	timeout time.Duration // for a batch, with its retries
	wait    time.Duration // before the first retry; each further wait is twice as long
	client  *http.Client
}

// newCollector returns the collector that the standard variables name. Its error names the variable that is wrong.
func newCollector(getenv func(string) string) (*collector, error) {
	setting := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	base := cmp.Or(getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318")
	c := &collector{
		url:    cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), strings.TrimSuffix(base, "/")+"/v1/traces"),
		header: http.Header{"Content-Type": {"application/x-protobuf"}},
		gzip:   setting("COMPRESSION") == "gzip",
		wait:   time.Second,
	}
	if u, err := url.Parse(c.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https URL")
	}
	if c.gzip {
		c.header.Set("Content-Encoding", "gzip")
	}
	for pair := range strings.FieldsFuncSeq(setting("HEADERS"), func(r rune) bool { return r == ',' }) {
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(value)
		if !found || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS: must be NAME=VALUE, separated by commas")
		}
		c.header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	millis, err := strconv.ParseUint(cmp.Or(setting("TIMEOUT"), "10000"), 10, 31)
	if err != nil {
		return nil, errors.New("OTEL_EXPORTER_OTLP_TIMEOUT: must be a whole number of milliseconds")
	}
	c.timeout = time.Duration(millis) * time.Millisecond
	certificates, err := readCertificates(setting("CERTIFICATE"), setting("CLIENT_CERTIFICATE"), setting("CLIENT_KEY"))
	if err != nil {
		return nil, err
	}
	c.client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: certificates}}
	return c, nil
}

// readCertificates returns what a connection checks and shows, of PEM files. A name may be empty.
func readCertificates(roots, certificate, key string) (*tls.Config, error) {
	c := new(tls.Config)
	if roots != "" {
		text, err := os.ReadFile(roots)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: there is no certificate in %s", roots)
		}
	}
	if certificate != "" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
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
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
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
		return false, err
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

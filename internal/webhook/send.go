package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/petstore/internal/petstore"
)

const (
	tryTimeout = 15 * time.Second // for a whole try: the name, the connection, the request, the answer
	bodyTime   = time.Second      // for the body, after the header of the answer; within tryTimeout
)

// A Message is what is posted.
type Message struct {
	ID      string // the same at each try
	URL     string
	Secrets []string
	Body    []byte
}

// An Answer is what a receiver said to a message.
type Answer struct {
	Status     int    // 0 if none came
	Text       string // the first bytes of the body
	Error      string // why none came, in words that reveal no addresses
	Latency    time.Duration
	RetryAfter time.Duration // 0 if the receiver did not ask for it
}

// OK reports whether the receiver has accepted the message.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// String describes the answer in a line.
func (a Answer) String() string {
	if a.Status == 0 {
		return a.Error
	}
	said := fmt.Sprintf("%d in %d ms", a.Status, a.Latency.Milliseconds())
	if text := strings.Join(strings.Fields(a.Text), " "); text != "" {
		said += ": " + petstore.Shorten(text, maxSaid)
	}
	return said
}

// maxSaid is how many bytes of the body String contains.
const maxSaid = 80

// AppendJSON appends a in its canonical form.
func (a Answer) AppendJSON(dst []byte) []byte { return append(a.appendMembers(append(dst, '{')), '}') }

func (a Answer) appendMembers(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `"latencyMs":`...), a.Latency.Milliseconds(), 10)
	if a.Status != 0 {
		dst = strconv.AppendInt(append(dst, `,"status":`...), int64(a.Status), 10)
		dst = petstore.AppendString(append(dst, `,"answer":`...), a.Text)
	}
	if a.Error != "" {
		dst = petstore.AppendString(append(dst, `,"error":`...), a.Error)
	}
	return dst
}

// A Sender posts messages over HTTP/1.1. It may be used concurrently.
type Sender struct {
	guard     *Guard
	now       func() time.Time
	agent     string
	dialer    net.Dialer
	time      time.Duration // for a whole try
	transport *http.Transport
}

// SenderOptions say how a sender posts. All but Resolver and TLS are needed.
type SenderOptions struct {
	Guard    *Guard
	Now      func() time.Time
	Version  string        // of this program, which receivers are told
	Resolver *net.Resolver // that of the system if nil
	TLS      *tls.Config   // the roots of the system if nil
}

// NewSender returns a sender. It follows no redirects, uses no proxy, and makes no
// connection that its guard refuses.
func NewSender(o SenderOptions) *Sender {
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS != nil {
		secure = o.TLS.Clone()
	}
	secure.NextProtos = []string{"http/1.1"}
	s := &Sender{
		guard: o.Guard, now: o.Now, agent: "Petstore/" + o.Version, time: tryTimeout,
		dialer: net.Dialer{Timeout: tryTimeout, Resolver: o.Resolver, Control: o.Guard.addresses.Safe}, // which checks the address of each connection, after the name was resolved
	}
	s.transport = s.newTransport(secure)
	return s
}

// Close closes the idle connections.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Send posts a message, and returns the answer, or why there was none. It returns within
// the time for a try whatever the receiver sends, and as soon as ctx ends.
func (s *Sender) Send(ctx context.Context, m Message) (a Answer) {
	began := time.Now()
	defer func() { a.Latency = time.Since(began) }()
	ctx, cancel := context.WithTimeout(ctx, s.time)
	defer cancel()
	r, err := s.request(ctx, m)
	if err != nil {
		return Answer{Error: string(errRequest)}
	}
	answer, text, err := s.exchange(r) //nolint:bodyclose // exchange has read it
	if err != nil {
		return Answer{Error: reason(ctx, err)}
	}
	return Answer{Status: answer.StatusCode, Text: printable(text), RetryAfter: retryAfter(answer.Header.Get("Retry-After"), s.now())}
}

// request returns the signed request.
func (s *Sender) request(ctx context.Context, m Message) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", s.agent)
	r.Header["Idempotency-Key"] = nil // is not sent: net/http may send the message again on a new connection if a kept one has ended
	return r, Sign(r.Header, m, s.now())
}

// Sign sets the fields by which a receiver verifies a message.
func Sign(h http.Header, m Message, at time.Time) error {
	signatures := make([]string, len(m.Secrets))
	for i, secret := range m.Secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return err
		}
		if signatures[i], err = signer.Sign(m.ID, at, m.Body); err != nil {
			return err
		}
	}
	h.Set(standardwebhooks.HeaderWebhookID, m.ID)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}

// reason says why there was no answer. It says the same of a name that does not exist
// and of one whose address is refused, so that nobody learns which names a private
// network has.
func reason(ctx context.Context, err error) string {
	if failed, ok := errors.AsType[failure](err); ok {
		return string(failed)
	}
	name, isName := errors.AsType[*net.DNSError](err)
	certificate, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), isName && name.IsNotFound:
		return "The host was not found, or has no public address."
	case isName:
		return "The name of the host could not be looked up."
	case isCertificate:
		return "The certificate is not valid: " + printable([]byte(certificate.Err.Error()))
	case isNetwork && network.Timeout() || errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "There was no answer within 15 seconds."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The connection was refused."
	case isOp && op.Op == "dial" && !errors.Is(err, syscall.ECONNRESET): // whoever resets has been reached
		return "The connection could not be made."
	}
	return string(errInvalid)
}

// printable returns text that every store can keep: valid UTF-8 without NUL.
func printable(text []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "\ufffd"), "\x00", "\ufffd")
}

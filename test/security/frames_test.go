package security

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A framed request is one of HTTP/2: its fields in their order, and its body.
type framed struct {
	name   string
	fields []string // NAME VALUE
	body   string
}

// framedVectors are requests that RFC 9113 calls malformed. A proxy that passes
// one on over HTTP/1.1 may make two of it.
func framedVectors(good []string) []framed {
	with := func(name string, fields ...string) framed { return framed{name, slices.Concat(good, fields), body} }
	without := func(name, field string, instead ...string) framed {
		rest := slices.DeleteFunc(slices.Clone(good), func(f string) bool { return strings.HasPrefix(f, field+" ") })
		return framed{name, slices.Concat(instead, rest), body}
	}
	return []framed{
		// §8.1.1: a length that is not that of the frames.
		with("a length that is too short", "content-length 5"),
		with("a length that is too long", "content-length 60"),
		with("two lengths", "content-length 12", "content-length 60"),
		with("a length that is none", "content-length +12"),
		// §8.2.2: what is of a connection.
		with("a coding", "transfer-encoding chunked"),
		with("Connection", "connection close"),
		with("Connection that names a field", "connection content-type"),
		with("Keep-Alive", "keep-alive timeout=5"),
		with("Upgrade", "upgrade h2c"),
		with("Proxy-Connection", "proxy-connection close"),
		with("TE of something else", "te gzip"),
		// §8.2.1: what a field is made of.
		with("a name in capitals", "Transfer-Encoding chunked"),
		with("a name with a colon", "x:y z"),
		with("a name with a line", "x\r\ny z"),
		with("a value with a line", "x y\r\ntransfer-encoding: chunked"),
		with("a value with LF", "x y\nz"),
		with("a value with NUL", "x y\x00z"),
		// §8.3: pseudo-fields.
		with("a pseudo-field after others", ":path /smuggled"),
		with("an unknown pseudo-field", ":x y"),
		without("two paths", ":nothing", ":path /smuggled"),
		without("two methods", ":nothing", ":method GET"),
		without("no path", ":path"),
		without("no method", ":method"),
		without("no scheme", ":scheme"),
		without("an empty path", ":path", ":path "),
		without("a path without a slash", ":path", ":path categories"),
		without("a path with a line", ":path", ":path /categories HTTP/1.1\r\nhost: x"),
		without("a method with a line", ":method", ":method GET /smuggled HTTP/1.1\r\nx:"),
		without("a method with a space", ":method", ":method POST /smuggled"),
		without("the status of an answer", ":nothing", ":status 200"),
	}
}

// TestSmugglingInFrames sends them: each is refused, by a status or an end of the
// stream or the connection, and nothing is done for it.
func TestSmugglingInFrames(t *testing.T) {
	t.Parallel()
	onLoopbacks(t)
	s := newSite(t)
	key := s.workspace("shop")
	s.serve("--log-level=error")
	good := []string{":method POST", ":scheme http", ":path /categories", ":authority x", "authorization Bearer " + key, "content-type application/json"}
	if got := s.frames(t, "127.0.1.255", framed{"good", good, body}); got != "201" {
		t.Fatalf("a good request = %s, want 201", got)
	}
	before := s.everything(key)
	for i, v := range framedVectors(good) {
		switch got := s.frames(t, fmt.Sprint("127.0.1.", i), v); got {
		case "400", "404", "405", "reset", "end":
		default:
			t.Errorf("%s = %s, want it refused", v.name, got)
		}
	}
	if after := s.everything(key); after != before {
		t.Errorf("something was done:\n%s\nbefore:\n%s", after, before)
	}
}

// frames sends a request on a connection of its own, and returns the status of
// the answer, or "reset" or "end" for that of the stream or the connection.
func (s *site) frames(t *testing.T, from string, v framed) string {
	t.Helper()
	l := s.dialFrom(from)
	defer l.Close()
	l.write(t, http2.ClientPreface)
	f := http2.NewFramer(l, l.in)
	f.AllowIllegalWrites = true
	var block bytes.Buffer
	packed := hpack.NewEncoder(&block)
	for _, field := range v.fields {
		name, value, _ := strings.Cut(field, " ")
		if err := packed.WriteField(hpack.HeaderField{Name: name, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(f.WriteSettings(), f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}), f.WriteData(1, true, []byte(v.body)))
	if err != nil {
		t.Fatal(err)
	}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		switch frame, err := f.ReadFrame(); frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return "reset"
		case *http2.GoAwayFrame:
			return "end"
		default:
			if errors.Is(err, io.EOF) {
				return "end"
			} else if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
		}
	}
}

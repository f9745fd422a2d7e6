package httpapi

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strings"
	"sync"

	"example.com/petstore/internal/petstore"
)

// maxBody is the greatest length of a body in bytes.
const maxBody = 64 << 10

// readInput reads the path's id, refuses unknown parameters and reads the body,
// in this order.
func (x *exchange) readInput() error {
	if err := x.readMedia(); err != nil {
		return err
	}
	if err := x.readBody(); err != nil {
		return err
	}
	if name := x.path.param; name != "" {
		id, err := readID(name, x.pathID)
		if err != nil {
			return err
		}
		x.param = id
	}
	if x.route.query == nil {
		return refuseQuery(x.r.URL.RawQuery)
	}
	return nil
}

// readMedia checks Content-Type and Content-Encoding.
func (x *exchange) readMedia() error {
	if x.route.body == noBody {
		return nil
	}
	if encoding := x.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return petstore.Errorf(codeUnsupportedMedia, "A body with Content-Encoding %.40q is not taken; send it plain.", encoding)
	}
	if types := x.r.Header["Content-Type"]; len(types) != 1 || !x.route.body.takes(types[0]) {
		return petstore.Errorf(codeUnsupportedMedia, "The Content-Type must be %s, in UTF-8.", x.route.body)
	}
	return nil
}

// String returns the media types in words.
func (k bodyKind) String() string {
	if k == patchBody {
		return "application/merge-patch+json or application/json"
	}
	return "application/json"
}

func (k bodyKind) takes(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" && (k != patchBody || media != "application/merge-patch+json") {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readBody reads the body into a buffer that finish gives back.
func (x *exchange) readBody() error {
	if x.route.body == noBody {
		return nil
	}
	if len(x.r.Header["Content-Length"]) > 1 { // HTTP/2 alone gets here with two, and believes the first
		return badParameter("Content-Length", petstore.InvalidFormat, "The header Content-Length may be sent once only.")
	}
	if x.r.ContentLength > maxBody {
		return errTooLarge
	}
	buf := bodies.Get().(*bytes.Buffer)
	buf.Reset()
	x.buffer = buf
	_, err := buf.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return errTooLarge
	}
	if err != nil {
		return &petstore.Error{Code: codeMalformedJSON, Message: "The body could not be read to its end."}
	}
	x.body = buf.Bytes()
	return nil
}

var errTooLarge = petstore.Errorf(codePayloadTooLarge, "The body is longer than %d bytes.", maxBody)

// onceOf returns the request's Idempotency-Key, or nil.
func (x *exchange) onceOf() (*petstore.Idempotency, error) {
	values := x.r.Header["Idempotency-Key"]
	if len(values) == 0 {
		return nil, nil
	}
	const name = "Idempotency-Key"
	if len(values) > 1 {
		return nil, badParameter(name, petstore.InvalidFormat, "The header Idempotency-Key may be sent once only.")
	}
	key := values[0]
	if len(key) < 1 || len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }) {
		return nil, badParameter(name, petstore.InvalidFormat, "Idempotency-Key must be 1 to 255 visible ASCII characters.")
	}
	return &petstore.Idempotency{
		Operation:   x.r.Method + " " + x.path.pattern,
		Key:         key,
		Fingerprint: fingerprint(x.body),
	}, nil
}

// conditionOf returns what If-Match and If-None-Match ask of a write.
func (x *exchange) conditionOf() (petstore.Condition, error) {
	match, err := parseTags("If-Match", x.r.Header["If-Match"], false)
	if err != nil {
		return petstore.Condition{}, err
	}
	noneMatch, err := parseTags("If-None-Match", x.r.Header["If-None-Match"], true)
	return petstore.Condition{IfMatch: match, IfNoneMatch: noneMatch}, err
}

// parseTags reads the value of If-Match or If-None-Match (RFC 9110 §13.1);
// nil means that there is none. Weak tags are kept only for weak comparison.
func parseTags(name string, values []string, weak bool) (*petstore.TagSet, error) {
	if len(values) == 0 {
		return nil, nil
	}
	text := strings.TrimSpace(strings.Join(values, ","))
	if text == "*" {
		return &petstore.TagSet{Any: true}, nil
	}
	set := &petstore.TagSet{}
	for text != "" {
		rest, isWeak := strings.CutPrefix(text, "W/")
		end := strings.IndexByte(strings.TrimPrefix(rest, `"`), '"')
		if !strings.HasPrefix(rest, `"`) || end < 0 {
			return nil, badParameter(name, petstore.InvalidFormat, `%s must be * or a list of entity tags such as "abc".`, name)
		}
		if weak || !isWeak {
			set.Tags = append(set.Tags, petstore.Tag(rest[1:1+end]))
		}
		text = strings.TrimSpace(rest[end+2:])
		if text != "" && text[0] != ',' {
			return nil, badParameter(name, petstore.InvalidFormat, "%s must have commas between its entity tags.", name)
		}
		text = strings.TrimLeft(text, ", \t")
	}
	return set, nil
}

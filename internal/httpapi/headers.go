package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// Limits of a request's head. net/http reads up to maxHead, so that requests beyond our
// own limits reach a handler and are answered with our own errors.
const (
	maxURL     = 8 << 10
	maxHeaders = 16 << 10
	maxHead    = 20 << 10
)

var errHeadersTooLarge = petstore.Errorf(codeHeadersTooLarge, "The header is longer than %d bytes.", maxHeaders)

// checkSizes returns the error of a request whose line or header is too long. Those that http1
// has read are shorter.
func checkSizes(r *http.Request, plain bool) error {
	if plain {
		return nil
	}
	if len(r.RequestURI) > maxURL {
		return petstore.Errorf(codeURITooLong, "The URL is longer than %d bytes.", maxURL)
	}
	size := 0
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	if size > maxHeaders {
		return errHeadersTooLarge
	}
	return nil
}

// requestID returns the client's request id if it is usable, else a new one of
// 96 random bits.
func requestID(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && usableID(given[0]) {
		return strings.Clone(given[0]) // it is kept longer than the header that it may be a part of
	}
	var b [16]byte
	// An id must be unique, not secret: the runtime's ChaCha8 is as good, and spares a system call.
	binary.LittleEndian.PutUint64(b[:], rand.Uint64())  //nolint:gosec // see above
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64()) //nolint:gosec // see above
	return base64.RawURLEncoding.EncodeToString(b[:12])
}

// usableID reports whether s is [A-Za-z0-9._-]{1,128} and holds no API key: it
// goes into the log.
func usableID(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return s != "" && len(s) <= 128 && strings.Trim(s, allowed) == "" && !strings.Contains(s, access.Prefix)
}

// onceOf returns the request's Idempotency-Key, without the fingerprint of a body, or nil.
// If only its holder may see the answer, the Idempotency-Key counts for the very path and for
// the very key or token that is sent.
func onceOf(x *exchange) (*petstore.Idempotency, error) {
	values := x.r.Header["Idempotency-Key"]
	if len(values) == 0 {
		return nil, nil
	}
	const name = "Idempotency-Key"
	if len(values) > 1 {
		return nil, badParameter(name, "The header Idempotency-Key may be sent once only.")
	}
	key := values[0]
	if len(key) < 1 || len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }) {
		return nil, badParameter(name, "Idempotency-Key must be 1 to 255 visible ASCII characters.")
	}
	operation := "POST " + x.path.pattern
	switch {
	case x.operator != nil:
		operation = "POST " + x.address() + " by " + x.operator.ID
	case x.route.scope.Has(access.Manage):
		operation = "POST " + x.address() + " by " + x.entry.Key.ID
	}
	return &petstore.Idempotency{Operation: operation, Key: key}, nil
}

// fingerprint returns the same for bodies that are the same JSON value, whatever their
// white space, the order of their members and their escapes. Numbers are compared as
// they are written: the API takes integers only. It is for bodies that were read:
// to sort the members of others could take long.
func fingerprint(body []byte) [sha256.Size]byte {
	value := jsontext.Value(bytes.Clone(body))
	_ = value.Format(jsontext.ReorderRawObjects(true)) // it is JSON
	return sha256.Sum256(value)
}

// conditionOf returns what If-Match and If-None-Match ask of a write.
func conditionOf(h http.Header) (petstore.Condition, error) {
	match, err := parseTags("If-Match", h["If-Match"], false)
	if err != nil {
		return petstore.Condition{}, err
	}
	noneMatch, err := parseTags("If-None-Match", h["If-None-Match"], true)
	return petstore.Condition{IfMatch: match, IfNoneMatch: noneMatch}, err
}

// parseTags reads the value of If-Match or If-None-Match (RFC 9110 §13.1);
// nil means that there is none. Without weak comparison, weak tags are kept apart.
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
			return nil, badParameter(name, `%s must be * or a list of entity tags such as "abc".`, name)
		}
		into := &set.Tags
		if isWeak && !weak {
			into = &set.Weak
		}
		*into = append(*into, petstore.Tag(rest[1:1+end]))
		text = strings.TrimSpace(rest[end+2:])
		if text != "" && text[0] != ',' {
			return nil, badParameter(name, "%s must have commas between its entity tags.", name)
		}
		text = strings.TrimLeft(text, ", \t")
	}
	return set, nil
}

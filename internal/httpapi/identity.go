package httpapi

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// requestID returns the client's request id if it is usable, else a new one of
// 96 random bits.
func requestID(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && usableID(given[0]) {
		return strings.Clone(given[0]) // it is kept longer than the header it may be a part of
	}
	var b [16]byte
	// An id must be unique, not secret: the runtime's ChaCha8 is as good, and spares a system call.
	binary.LittleEndian.PutUint64(b[:], rand.Uint64())  //nolint:gosec // see above
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64()) //nolint:gosec // see above
	var text [16]byte
	base64.RawURLEncoding.Encode(text[:], b[:12])
	return string(text[:])
}

// usableID reports whether s is [A-Za-z0-9._-]{1,128} and holds no API key: it
// goes into the log.
func usableID(s string) bool {
	if len(s) < 1 || len(s) > 128 || strings.Contains(s, access.Prefix) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// identify finds out who calls: the workspace's key, or else the address.
func (x *exchange) identify() {
	key, err := presentedKey(x.r.Header)
	if err == nil {
		x.entry, err = x.api.Keys.Verify(key)
	}
	if err != nil {
		x.entry, x.keyErr = nil, err
	}
	if x.entry == nil || x.guesses() {
		x.addr = clientAddr(x.r, x.api.TrustedProxies)
	}
}

var (
	errMissingKey = petstore.Errorf(codeMissingKey, "This needs an API key: send it as Authorization: Bearer KEY, or as X-API-Key: KEY.")
	errManyKeys   = petstore.Errorf(access.CodeInvalidKey, "The request carries more than one API key.")
	errNotBearer  = petstore.Errorf(access.CodeInvalidKey, "The Authorization header must be: Bearer KEY.")
)

// presentedKey returns the key of a request, from Authorization or X-API-Key.
func presentedKey(h http.Header) (string, error) {
	bearer, plain := h["Authorization"], h["X-Api-Key"]
	if len(bearer) == 0 && len(plain) == 0 {
		return "", errMissingKey
	}
	key := ""
	for _, value := range bearer {
		scheme, token, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", errNotBearer
		}
		token = strings.TrimSpace(token)
		if key != "" && token != "" && token != key {
			return "", errManyKeys
		}
		key = cmp.Or(token, key)
	}
	for _, value := range plain {
		if key != "" && value != "" && value != key {
			return "", errManyKeys
		}
		key = cmp.Or(value, key)
	}
	if key == "" {
		return "", errMissingKey
	}
	return key, nil
}

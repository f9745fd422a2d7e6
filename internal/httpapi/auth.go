package httpapi

import (
	"cmp"
	"net/http"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// identify sets the entry of the caller's key, or the reason why there is none. It sets
// the address of callers that are counted by address.
func (a *API) identify(x *exchange) {
	key, err := presentedKey(x.r.Header)
	if err == nil {
		x.entry, err = a.o.Keys.Verify(key)
	}
	if err != nil {
		x.entry, x.keyErr = nil, err
	}
	if x.byAddress() || x.triesKey() || x.keyless() {
		x.addr = clientAddr(x.r, a.o.TrustedProxies)
	}
}

// byAddress reports whether what the request uses is counted for its address, not for a
// workspace: it has no key, or the key of a sandbox, since anybody can create many of those.
func (x *exchange) byAddress() bool { return x.entry == nil || x.entry.Workspace.Sandbox != nil }

// recognize counts the connection of a request for the workspace of its key, unless the
// key is banned.
func recognize(x *exchange) {
	if !x.byAddress() && x.decision.Outcome != ratelimit.Banned {
		http1.Recognize(x.w, x.entry.Workspace.ID, x.entry.Key.ID)
	}
}

// authorize checks the key and its scope.
func authorize(x *exchange) error {
	switch {
	case x.route.public, x.route.keyless && petstore.CodeOf(x.keyErr) == codeMissingKey:
		return nil
	case x.keyErr != nil:
		return x.keyErr
	case !x.entry.Key.Scopes.Has(x.route.scope):
		return petstore.Errorf(access.CodeInsufficientScope, "This needs a key with %s.", x.route.scope.Words())
	}
	return nil
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

package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// Limits of a request's head. net/http reads up to maxHead, so that what is
// over our own limits still reaches a handler and gets our form of an error.
const (
	maxURL     = 8 << 10
	maxHeaders = 16 << 10
	maxHead    = 64 << 10
)

// checkSizes returns the error of a request whose line or header is too long.
// One that is plain is shorter, see expressBuffer.
func (x *exchange) checkSizes() error {
	if _, plain := x.w.(*reply); plain {
		return nil
	}
	r := x.r
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
		return petstore.Errorf(codeHeadersTooLarge, "The header is longer than %d bytes.", maxHeaders)
	}
	return nil
}

// find notes the path and the route, and gives every answer of a deprecated
// operation its notices.
func (x *exchange) find(p *path) {
	x.path, x.route = p, p.route(x.r.Method)
	if x.route != nil && x.route.sunset {
		x.deprecate()
	}
}

// decide has the limiter decide, once, and writes its headers, once, for every
// outcome. A request that is refused for its size is not counted.
func (x *exchange) decide(oversized bool) {
	ctx, limiter := x.r.Context(), x.api.Limiter
	spends := !oversized && !x.free()
	x.counted = spends
	switch {
	case x.entry != nil && spends && !x.guesses():
		x.decision = limiter.Admit(ctx, x.entry.Slot)
	case x.entry != nil && !spends:
		x.decision = limiter.Peek(ctx, x.entry.Slot)
	case spends:
		x.decision = limiter.AdmitAddress(ctx, x.addr)
	default:
		x.decision = limiter.PeekAddress(ctx, x.addr)
	}
	x.limitHeaders(&x.decision)
	x.tellBan()
}

func (x *exchange) tellBan() {
	if ban := x.decision.NewBan; ban != nil {
		x.api.OnBan(*ban)
	}
}

// guesses reports whether the request tries a key on a page. It is counted by
// address, whatever key it carries besides.
func (x *exchange) guesses() bool { return x.route != nil && x.route.guess }

// free reports whether a request spends no quota: preflights, the public pages,
// and getAccount, but not for those who try keys on it.
func (x *exchange) free() bool {
	if x.route == nil {
		return x.preflight()
	}
	return x.route.public && !x.route.guess || x.route.free && x.entry != nil
}

// limitHeaders writes the three headers of the one window that counts, and the
// fields of draft-ietf-httpapi-ratelimit-headers with both windows.
func (x *exchange) limitHeaders(d *ratelimit.Decision) {
	head := d.Headline()
	now := x.began.Unix()
	x.setNumber("X-RateLimit-Limit", head.Limit)
	x.setNumber("X-RateLimit-Remaining", head.Remaining())
	x.setNumber("X-RateLimit-Reset", head.Reset)

	from := len(x.text)
	x.text = appendPolicy(appendPolicy(x.text, `"minute";q=`, d.Minute.Limit, ";w=60, "), `"day";q=`, d.Day.Limit, ";w=86400")
	x.setText("RateLimit-Policy", from)

	from = len(x.text)
	buf := strconv.AppendInt(append(x.text, `"minute";r=`...), d.Minute.Remaining(), 10)
	buf = strconv.AppendInt(append(buf, ";t="...), untilReset(d, ratelimit.RefusedMinute, d.Minute, now, 60), 10)
	buf = strconv.AppendInt(append(buf, `, "day";r=`...), d.Day.Remaining(), 10)
	x.text = strconv.AppendInt(append(buf, ";t="...), untilReset(d, ratelimit.RefusedDay, d.Day, now, 86400), 10)
	x.setText("RateLimit", from)
}

func appendPolicy(dst []byte, name string, limit int64, window string) []byte {
	dst = append(dst, name...)
	dst = strconv.AppendInt(dst, limit, 10)
	return append(dst, window...)
}

// untilReset returns the seconds until w starts afresh: at most its length, and
// what Retry-After says if it refused, so that the two name one instant.
func untilReset(d *ratelimit.Decision, refusedBy ratelimit.Outcome, w ratelimit.Window, now, length int64) int64 {
	if d.Outcome == refusedBy {
		return d.RetryAfter
	}
	return min(length, max(0, w.Reset-now))
}

// refusal returns the error of a request that the limiter refused.
func (x *exchange) refusal() error {
	d := &x.decision
	if d.Admitted() || x.guesses() || x.free() && (d.Outcome != ratelimit.Banned || x.route == nil || x.route.public) {
		return nil
	}
	e := &petstore.Error{Code: codeRateLimitExceeded, RetryAfter: time.Duration(d.RetryAfter) * time.Second}
	switch d.Outcome {
	case ratelimit.Unavailable:
		e.Code = petstore.CodeServiceUnavailable
		e.Message = "The requests cannot be counted just now. Wait as Retry-After says."
	case ratelimit.Banned:
		e.Code = codeKeyBanned
		e.Message = "This API key is banned for a while, because it kept sending requests after it was told to wait. Wait as Retry-After says."
		if x.bannedByOperator() {
			e.Message = "This API key is banned for a while by the operator of this service. Wait as Retry-After says."
		}
	case ratelimit.RefusedDay:
		e.Message = "The " + strconv.FormatInt(d.Day.Limit, 10) + " requests of this UTC day are spent. Wait as Retry-After says, or move to a higher plan."
	default:
		e.Message = "The " + strconv.FormatInt(d.Minute.Limit, 10) + " requests of this minute are spent. Wait as Retry-After says."
	}
	return e
}

// bannedByOperator reports whether the ban that runs is an operator's: the
// limiter starts none of its own while one runs.
func (x *exchange) bannedByOperator() bool {
	if x.entry == nil || x.entry.Key.Ban == nil {
		return false
	}
	ban := x.entry.Key.Ban
	return ban.By == ratelimit.ByOperator && x.began.Before(ban.Until)
}

// admit checks the key and its scope, the sunset, and what the request says of
// its own form.
func (x *exchange) admit() error {
	if !x.route.public {
		if x.keyErr != nil {
			return x.keyErr
		}
		if x.entry.Workspace.Resetting {
			return access.Resetting()
		}
		if have := x.entry.Key.Scopes; !have.Has(x.route.scope) {
			return insufficientScope(x.route.scope)
		}
	}
	if x.route.sunset && !x.began.Before(x.api.Sunset) {
		return petstore.Errorf(codeOperationSunset, "This operation ended on %s. Its successor is GET /pets?id={petId}.", x.api.sunset)
	}
	if x.route.public {
		return nil
	}
	if !accept.JSON(x.r.Header["Accept"]) {
		return errNotAcceptable
	}
	return x.readInput()
}

var errNotAcceptable = petstore.Errorf(codeNotAcceptable, "Only application/json can be sent, which Accept does not allow.")

func insufficientScope(need access.Scopes) error {
	return petstore.Errorf(codeInsufficientScope, "This needs a key with the scope %s.", need)
}

// routed answers what has no operation: OPTIONS, and paths and methods that
// are not there.
func (x *exchange) routed() (handled bool, err error) {
	if x.route != nil {
		return false, nil
	}
	if x.r.Method == http.MethodOptions && x.r.RequestURI == "*" {
		x.set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		x.sendEmpty(http.StatusNoContent)
		return true, nil
	}
	if len(x.path.routes) == 0 {
		return false, petstore.Errorf(codeRouteNotFound, "There is nothing at this path. The operations are described at /openapi.json.")
	}
	x.set("Allow", x.path.allow)
	if x.r.Method != http.MethodOptions {
		return false, petstore.Errorf(codeMethodNotAllowed, "This path takes %s.", x.path.allow)
	}
	if x.preflight() {
		x.set("Access-Control-Allow-Methods", x.path.allow)
		x.set("Access-Control-Allow-Headers", allowedHeaders)
		x.set("Access-Control-Max-Age", "7200")
	}
	x.sendEmpty(http.StatusNoContent)
	return true, nil
}

// preflight reports whether the request is a CORS preflight (Fetch §3.2.2).
func (x *exchange) preflight() bool {
	return x.r.Method == http.MethodOptions && x.r.Header["Origin"] != nil &&
		x.r.Header["Access-Control-Request-Method"] != nil
}

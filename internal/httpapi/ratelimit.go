package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// decide calls the limiter once for every request, and sets the header fields of its
// decision. A request that is refused for its size is not counted, nor is one whose key
// could not be looked up because the store is unavailable.
func (a *API) decide(x *exchange, oversized bool) {
	spends := !oversized && !x.spendsNothing() && (!x.unresolved() || x.triesKey())
	x.counted = spends
	switch {
	case x.entry != nil && spends && !x.triesKey() && !x.keyless():
		a.apply(x, a.o.Limiter.Admit(x.entry.Attachment))
	case x.entry != nil && !spends:
		a.apply(x, a.o.Limiter.Peek(x.entry.Attachment))
	case spends:
		a.apply(x, a.o.Limiter.AdmitAddress(x.addr))
	default:
		a.apply(x, a.o.Limiter.PeekAddress(x.addr))
	}
}

// apply stores a decision, sets its header fields, and reports a new ban.
func (a *API) apply(x *exchange, d ratelimit.Decision) {
	x.decision = d
	setLimits(x, &x.decision)
	if d.NewBan != nil {
		a.o.OnBan(*d.NewBan)
	}
}

// triesKey reports whether the request is an attempt to sign in. It is counted by
// address, even if it also carries a key.
func (x *exchange) triesKey() bool { return x.route != nil && x.route.triesKey }

// keyless reports whether the operation needs no key. The request is counted by address, even
// if it carries a key.
func (x *exchange) keyless() bool { return x.route != nil && x.route.keyless }

// unresolved reports whether the key could not be looked up because the store is
// unavailable.
func (x *exchange) unresolved() bool {
	return petstore.CodeOf(x.keyErr) == petstore.CodeServiceUnavailable
}

// spendsNothing reports whether a request spends no quota: preflights, the public pages,
// and getAccount with a valid key.
func (x *exchange) spendsNothing() bool {
	if x.route == nil {
		return x.preflight()
	}
	return x.route.public && !x.route.triesKey || x.route.free && x.entry != nil
}

// preflight reports whether the request is a CORS preflight (Fetch §3.2.2).
func (x *exchange) preflight() bool {
	return x.r.Method == http.MethodOptions && x.r.Header["Origin"] != nil &&
		x.r.Header["Access-Control-Request-Method"] != nil
}

// setLimits sets the three X-RateLimit fields of the decisive window, and the fields of
// draft-ietf-httpapi-ratelimit-headers of both windows.
func setLimits(x *exchange, d *ratelimit.Decision) {
	head, now := d.Headline(), x.began.Unix()
	minute, day := untilReset(d, ratelimit.RefusedMinute, d.Minute, now, 60), untilReset(d, ratelimit.RefusedDay, d.Day, now, 86400)
	text := make([]byte, 0, 192) // of all values, since one string costs less than one for each number
	add := func(before string, n int64) { text = strconv.AppendInt(append(text, before...), n, 10) }
	add("", head.Limit)
	limit := len(text)
	add("", head.Remaining())
	remaining := len(text)
	add("", head.Reset)
	reset := len(text)
	add(`"minute";q=`, d.Minute.Limit)
	add(`;w=60, "day";q=`, d.Day.Limit)
	text = append(text, ";w=86400"...)
	policy := len(text)
	add(`"minute";r=`, d.Minute.Remaining())
	add(";t=", minute)
	add(`, "day";r=`, d.Day.Remaining())
	add(";t=", day)
	all := string(text)
	x.set("X-RateLimit-Limit", all[:limit])
	x.set("X-RateLimit-Remaining", all[limit:remaining])
	x.set("X-RateLimit-Reset", all[remaining:reset])
	x.set("RateLimit-Policy", all[reset:policy])
	x.set("RateLimit", all[policy:])
}

// untilReset returns the seconds until w starts again, at most its length. If w refused
// the request, that is the value of Retry-After, so that both name the same instant.
func untilReset(d *ratelimit.Decision, refusedBy ratelimit.Outcome, w ratelimit.Window, now, length int64) int64 {
	if d.Outcome == refusedBy {
		return d.RetryAfter
	}
	return min(length, max(0, w.Reset-now))
}

// refusal returns the error of a request that the limiter refused, or nil. A request
// whose key could not be looked up is not refused by the limits of its address.
func refusal(x *exchange) error {
	d := &x.decision
	if d.Admitted() || x.unresolved() || x.triesKey() || x.spendsNothing() && (d.Outcome != ratelimit.Banned || x.route == nil || x.route.public) {
		return nil
	}
	e := &petstore.Error{Code: codeRateLimitExceeded, RetryAfter: time.Duration(d.RetryAfter) * time.Second}
	switch d.Outcome {
	case ratelimit.Unavailable:
		e.Code = petstore.CodeServiceUnavailable
		e.Message = "The requests cannot be counted at the moment. Wait as Retry-After says."
	case ratelimit.Banned:
		e.Code = access.CodeBannedKey
		e.Message = "This API key is banned for a while, because it kept sending requests after it was told to wait. Wait as Retry-After says."
		if bannedByOperator(x) {
			e.Message = "This API key is banned for a while by the operator of this service. Wait as Retry-After says."
		}
	case ratelimit.RefusedDay:
		e.Message = "The " + decimal(d.Day.Limit) + " requests of this UTC day are used up. Wait as Retry-After says, or move to a higher plan."
	default:
		e.Message = "The " + decimal(d.Minute.Limit) + " requests of this minute are used up. Wait as Retry-After says."
	}
	return e
}

// bannedByOperator reports whether an operator has set the present ban. The limiter
// starts no ban during another one.
func bannedByOperator(x *exchange) bool {
	if x.entry == nil || x.entry.Key.Ban == nil {
		return false
	}
	ban := x.entry.Key.Ban
	return ban.By == ratelimit.ByOperator && x.began.Before(ban.Until)
}

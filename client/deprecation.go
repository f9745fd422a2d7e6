package client

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Deprecation says that an operation will end.
type Deprecation struct {
	Operation string    // the operationId of the description, as "getPet"
	Since     time.Time // since when it is deprecated (RFC 9745)
	Sunset    time.Time // when it ends (RFC 8594); zero if that is not known
	Successor string    // the URL to ask instead, or ""
	Docs      string    // the URL of what there is to read about it, or ""
}

// deprecationOf returns what an answer says of its operation's end, and false if it says nothing.
func deprecationOf(operation string, h http.Header) (Deprecation, bool) {
	at, ok := strings.CutPrefix(h.Get("Deprecation"), "@")
	since, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return Deprecation{}, false
	}
	d := Deprecation{Operation: operation, Since: time.Unix(since, 0), Successor: link(h, "successor-version"), Docs: link(h, "deprecation")}
	if sunset, err := http.ParseTime(h.Get("Sunset")); err == nil {
		d.Sunset = sunset
	}
	return d, true
}

// link returns the target of the first link with a relation (RFC 8288), or "".
func link(h http.Header, rel string) string {
	for _, line := range h.Values("Link") {
		for line != "" {
			_, rest, ok := strings.Cut(line, "<")
			target, rest, closed := strings.Cut(rest, ">")
			if !ok || !closed {
				break
			}
			params, rest := untilNextLink(rest)
			if hasRelation(params, rel) {
				return target
			}
			line = rest
		}
	}
	return ""
}

// untilNextLink splits s before the comma that ends a link's parameters, which is outside of quotes.
func untilNextLink(s string) (params, rest string) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func hasRelation(params, rel string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for r := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(r, rel) {
				return true
			}
		}
	}
	return false
}

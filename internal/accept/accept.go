// Package accept parses what a client accepts: the lists of Accept and Accept-Encoding
// (RFC 9110 §12.5).
package accept

import (
	"iter"
	"strconv"
	"strings"
)

// The weights of an element that has none in the range from 0 to 1, and of what
// is not in the list.
const (
	malformed = -1
	unlisted  = -2
)

// JSON reports whether the values of Accept let application/json be sent.
func JSON(values []string) bool {
	if len(values) == 0 || len(values) == 1 && (values[0] == "*/*" || values[0] == "application/json" || values[0] == "") {
		return true
	}
	return quality(values, "application/json") > 0
}

// EventStream reports whether the values of Accept prefer text/event-stream to
// application/json. A client that accepts both equally gets JSON, which ends.
func EventStream(values []string) bool {
	return quality(values, "text/event-stream") > quality(values, "application/json")
}

// quality returns the weight that the values of Accept give to a media type: that of
// the most specific range that matches (RFC 9110 §12.5.1). A malformed weight counts as
// 1, as does an empty list: a refusal would help nobody.
func quality(values []string, media string) float64 {
	kind, _, _ := strings.Cut(media, "/")
	specific, best, some := 0, 0.0, false
	for name, weight := range elements(values) {
		some = true
		rank := 0
		switch name {
		case media:
			rank = 3
		case kind + "/*":
			rank = 2
		case "*/*":
			rank = 1
		}
		if rank > specific {
			specific, best = rank, weight
		}
	}
	if best == malformed || !some {
		return 1
	}
	return best
}

// HTML reports whether the values of Accept name text/html, as browsers do.
func HTML(values []string) bool {
	for name, weight := range elements(values) {
		if name == "text/html" && weight != 0 {
			return true
		}
	}
	return false
}

// Gzip reports whether the values of Accept-Encoding ask for gzip, and do not
// prefer the plain form (RFC 9110 §12.5.3). A malformed weight counts as 0: the
// plain form is understood by everybody. It is also for clients that say they
// take neither.
func Gzip(values []string) bool {
	if len(values) == 0 {
		return false
	}
	var zipped, plain, other float64 = unlisted, unlisted, unlisted
	for name, weight := range elements(values) {
		of := &other
		switch name {
		case "gzip", "x-gzip": // RFC 9110 §8.4.1.3
			of = &zipped
		case "identity":
			of = &plain
		case "*":
		default:
			continue
		}
		if *of == unlisted {
			*of = weight
		}
	}
	if zipped == unlisted {
		zipped = other
	}
	if plain == unlisted {
		plain = other
	}
	return zipped > 0 && zipped >= plain
}

// elements yields those of a list, in lower case, with their weights
// (RFC 9110 §12.4.2); empty ones are none (§5.6.1.2).
func elements(values []string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
			name, params, _ := strings.Cut(part, ";")
			if strings.TrimSpace(part) != "" && !yield(strings.ToLower(strings.TrimSpace(name)), weightOf(params)) {
				return
			}
		}
	}
}

// weightOf returns the weight among the parameters of an element.
func weightOf(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		key, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(key), "q") {
			return parseWeight(strings.TrimSpace(value))
		}
	}
	return 1
}

// parseWeight reads a decimal number from 0 to 1, of more digits than RFC 9110
// allows if need be.
func parseWeight(text string) float64 {
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || q > 1 || strings.Trim(text, "0123456789.") != "" {
		return malformed
	}
	return q
}

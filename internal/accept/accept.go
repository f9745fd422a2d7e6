// Package accept parses what a client accepts: the lists of Accept and Accept-Encoding
// (RFC 9110 §12.5). It compresses what is sent to those that take gzip.
package accept

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"
	"sync"
)

// JSON reports whether the values of Accept let application/json be sent.
func JSON(values []string) bool {
	if len(values) == 0 || len(values) == 1 && (values[0] == "*/*" || values[0] == "application/json" || values[0] == "") {
		return true
	}
	return quality(values, "application/json", "application/*", "*/*") > 0
}

// EventStream reports whether the values of Accept prefer text/event-stream to
// application/json. A client that accepts both equally gets JSON, which ends.
func EventStream(values []string) bool {
	return quality(values, "text/event-stream", "text/*", "*/*") > quality(values, "application/json", "application/*", "*/*")
}

// quality returns the weight that the values of Accept give to a media type; ranges are
// the type and what it is in, the most specific first (RFC 9110 §12.5.1). A malformed
// weight counts as 1, as does an empty list: a refusal would help nobody.
func quality(values []string, ranges ...string) float64 {
	w := weight(values, ranges...)
	if w == malformed || strings.Trim(strings.Join(values, ""), ", \t") == "" {
		return 1
	}
	return max(w, 0)
}

// HTML reports whether the values of Accept name text/html, as browsers do.
func HTML(values []string) bool {
	w := weight(values, "text/html")
	return w > 0 || w == malformed
}

// Gzip reports whether the values of Accept-Encoding ask for gzip, and do not
// prefer the plain form (RFC 9110 §12.5.3). A malformed weight counts as 0: the
// plain form is understood by everybody. It is also for clients that say they
// take neither.
func Gzip(values []string) bool {
	zipped := weight(values, "gzip", "x-gzip", "*") // RFC 9110 §8.4.1.3
	return zipped > 0 && zipped >= weight(values, "identity", "*")
}

// Levels of compression: lists are made for each request, and pages should be small.
const (
	Fast  = gzip.BestSpeed
	Small = 6
)

var writers [Small + 1]sync.Pool // by level; a writer has some 800 KB

// Compress returns text in gzip.
func Compress(text []byte, level int) []byte {
	var b bytes.Buffer
	z, pooled := writers[level].Get().(*gzip.Writer)
	if !pooled {
		z, _ = gzip.NewWriterLevel(nil, level) // the level is valid
	}
	defer writers[level].Put(z)
	z.Reset(&b)
	_, _ = z.Write(text) // a buffer takes everything
	_ = z.Close()
	return bytes.Clone(b.Bytes()) // without spare capacity, since it may be kept
}

// The weights of what is not in a list, and of what has none in the range from 0 to 1.
const (
	unlisted  = -1
	malformed = -2
)

// weight returns the weight (RFC 9110 §12.4.2) of the first of the names that a list has.
func weight(values []string, names ...string) float64 {
	list := strings.Join(values, ",")
	for _, wanted := range names {
		for element := range strings.SplitSeq(list, ",") {
			name, params, _ := strings.Cut(element, ";")
			if strings.EqualFold(strings.TrimSpace(name), wanted) {
				return weightOf(params)
			}
		}
	}
	return unlisted
}

// weightOf returns the weight among the parameters of an element: a decimal number from 0
// to 1, of more digits than RFC 9110 allows if need be.
func weightOf(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		key, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(key), "q") {
			continue
		}
		value = strings.TrimSpace(value)
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || q > 1 || strings.Trim(value, "0123456789.") != "" {
			return malformed
		}
		return q
	}
	return 1
}

package petstore

import (
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Time is an instant in milliseconds since the Unix epoch, or no instant at
// all (the zero value).
type Time struct {
	Millis int64
	Valid  bool
}

// At returns t, cut to the millisecond.
func At(t time.Time) Time { return Time{Millis: t.UnixMilli(), Valid: true} }

// UTC returns t in UTC, or the zero time for no instant.
func (t Time) UTC() time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return time.UnixMilli(t.Millis).UTC()
}

// ParseTime reads a date-time of RFC 3339 §5.6, with an offset; "t" and "z"
// may be in lower case. Digits beyond the millisecond are cut off. It reports
// false for anything else, for a leap second, and for instants whose year in
// UTC is not 0001 to 9999: RFC 3339 cannot write later ones, and many languages
// have no year 0.
func ParseTime(s string) (Time, bool) {
	s = strings.ToUpper(s)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !strictTime(s) {
		return Time{}, false
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return Time{}, false
	}
	return At(t), true
}

// strictTime reports whether s, which time.Parse accepts, is RFC 3339 where
// time.Parse is lenient: an hour of one digit, a comma for the decimal point,
// an offset of more than 23:59.
func strictTime(s string) bool {
	const date, seconds = len("2006-01-02T"), len("2006-01-02T15:04:05")
	if s[date+1] == ':' || s[seconds] == ',' {
		return false
	}
	hour, minute, ok := strings.Cut(s[len(s)-len("00:00"):], ":")
	return s[len(s)-1] == 'Z' || ok && hour <= "23" && minute <= "59"
}

// Append appends t in UTC with "Z", with at most three digits of a second.
// t must be valid.
func (t Time) Append(dst []byte) []byte {
	return t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.999Z07:00")
}

// String returns t as Append writes it, or "" for no instant.
func (t Time) String() string {
	if !t.Valid {
		return ""
	}
	return string(t.Append(nil))
}

// MarshalJSONTo writes t as String does, or null for no instant.
func (t Time) MarshalJSONTo(to *jsontext.Encoder) error {
	if !t.Valid {
		return to.WriteToken(jsontext.Null)
	}
	return to.WriteToken(jsontext.String(t.String()))
}

// UnmarshalText reads t by ParseTime.
func (t *Time) UnmarshalText(text []byte) (err error) {
	var ok bool
	if *t, ok = ParseTime(string(text)); !ok {
		err = errors.New("no date-time")
	}
	return err
}

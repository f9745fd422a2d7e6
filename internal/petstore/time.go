package petstore

import "time"

// Time is an instant in milliseconds since the Unix epoch, or no instant at
// all (the zero value).
type Time struct {
	Millis int64
	Valid  bool
}

// At returns t, cut to the millisecond.
func At(t time.Time) Time { return Time{Millis: t.UnixMilli(), Valid: true} }

// ParseTime reads a date-time of RFC 3339 §5.6, with an offset. Digits beyond
// the millisecond are cut off. It reports false for anything else, and for
// instants whose year in UTC is not 0000 to 9999, which RFC 3339 cannot write.
func ParseTime(s string) (Time, bool) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return Time{}, false
	}
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return Time{}, false
	}
	return At(t), true
}

// Append appends t in UTC with "Z", with at most three digits of a second.
// t must be valid.
func (t Time) Append(dst []byte) []byte {
	return time.UnixMilli(t.Millis).UTC().AppendFormat(dst, "2006-01-02T15:04:05.999Z07:00")
}

// String returns t as Append writes it, or "" for no instant.
func (t Time) String() string {
	if !t.Valid {
		return ""
	}
	return string(t.Append(nil))
}

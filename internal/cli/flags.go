package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

// A value is a flag that takes what read takes. The errors of read say what
// would be right.
type value[T any] struct {
	to    *T
	read  func(string) (T, error)
	words []string // all that it takes, if they are few
	text  string   // as it was typed
}

// Type implements pflag.Value.
func (*value[T]) Type() string { return "value" }

// String implements pflag.Value.
func (v *value[T]) String() string { return v.text }

// Set implements pflag.Value.
func (v *value[T]) Set(s string) error {
	t, err := v.read(s)
	if err != nil {
		return err
	}
	*v.to, v.text = t, s
	return nil
}

// Words implements worded.
func (v *value[T]) Words() []string { return v.words }

// A list is a flag that takes several values, separated by commas or each with
// a flag of its own.
type list[T any] struct {
	to   *[]T
	one  value[T]
	text []string
}

// listOf returns the flag of values like one.
func listOf[T any](to *[]T, one *value[T]) *list[T] { return &list[T]{to: to, one: *one} }

// Type implements pflag.Value.
func (*list[T]) Type() string { return "list" }

// String implements pflag.Value.
func (l *list[T]) String() string { return strings.Join(l.text, ",") }

// Set implements pflag.Value.
func (l *list[T]) Set(s string) error {
	if len(l.text) == 0 {
		*l.to = nil // of the default
	}
	for part := range strings.SplitSeq(s, ",") {
		t, err := l.one.read(part)
		if err != nil {
			return err
		}
		*l.to, l.text = append(*l.to, t), append(l.text, part)
	}
	return nil
}

// Words implements worded.
func (l *list[T]) Words() []string { return l.one.words }

// word returns a flag that takes one of the words.
func word[T ~string](to *T, words ...T) *value[T] {
	var all []string
	for _, w := range words {
		all = append(all, string(w))
	}
	return &value[T]{to: to, words: all, read: func(s string) (T, error) {
		if !slices.Contains(all, s) {
			last := len(all) - 1
			return "", fmt.Errorf("must be %s or %s", strings.Join(all[:last], ", "), all[last])
		}
		return T(s), nil
	}}
}

// text returns a flag that takes any text but none.
func text(to *string) *value[string] {
	return &value[string]{to: to, read: func(s string) (string, error) {
		if s == "" {
			return "", errors.New("must not be empty")
		}
		return s, nil
	}}
}

// whole returns a flag that takes whole numbers.
func whole[T ~int | ~int64](to *T, least, most int64) *value[T] {
	return &value[T]{to: to, read: func(s string) (T, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case err == nil && n >= least && n <= most:
			return T(n), nil
		case most == math.MaxInt64:
			return 0, fmt.Errorf("must be a whole number from %d on", least)
		}
		return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
	}}
}

// nullable returns a flag for a member of a patch that takes what v takes. The empty value,
// and each of the words, removes the member.
func nullable[T any](to *client.Nullable[T], v *value[T], words ...string) *value[client.Nullable[T]] {
	return &value[client.Nullable[T]]{to: to, words: v.words, read: func(s string) (client.Nullable[T], error) {
		if s == "" || slices.Contains(words, s) {
			return client.Null[T](), nil
		}
		t, err := v.read(s)
		return client.Set(t), err
	}}
}

// id returns a flag that takes an id.
func id(to *int64) *value[int64] { return whole(to, 1, math.MaxInt64) }

// instantFlag returns a flag that takes an instant.
func instantFlag(to *time.Time) *value[time.Time] {
	return &value[time.Time]{to: to, read: func(s string) (time.Time, error) {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return t, errors.New("must be an instant such as 2026-03-01T09:30:00Z")
		}
		return t, nil
	}}
}

// duration returns a flag that takes a duration, at least as long as least: 0,
// or 1 for any but none.
func duration(to *time.Duration, least time.Duration) *value[time.Duration] {
	return &value[time.Duration]{to: to, read: func(s string) (time.Duration, error) {
		d, err := config.ParseDuration(s)
		switch {
		case err != nil:
			return 0, errors.New("must be a duration such as 30d, 12h or 1h30m, and at most 65535d")
		case d < least && least == 0:
			return 0, errors.New("must not be negative")
		case d < least:
			return 0, errors.New("must be longer than 0")
		}
		return d, nil
	}}
}

// fromNow returns a flag that takes how long it is until an instant.
func (a *app) fromNow(to *time.Time) *value[time.Time] {
	after := duration(nil, 1)
	return &value[time.Time]{to: to, read: func(s string) (time.Time, error) {
		d, err := after.read(s)
		return a.now().Add(d), err
	}}
}

// atMost bounds what a flag of a duration takes, by whole days.
func atMost(most time.Duration, v *value[time.Duration]) *value[time.Duration] {
	read := v.read
	v.read = func(s string) (time.Duration, error) {
		d, err := read(s)
		if err == nil && d > most {
			err = fmt.Errorf("must be at most %.0fd", most.Hours()/24)
		}
		return d, err
	}
	return v
}

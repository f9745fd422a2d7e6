package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

// A value is a flag that takes what Read takes.
type value[T any] = config.Value[T]

// listOf returns the flag of values like one.
func listOf[T any](to *[]T, one *value[T]) *config.List[T] { return &config.List[T]{To: to, One: *one} }

// text returns a flag that takes any text but none.
func text(to *string) *value[string] {
	return &value[string]{To: to, Read: func(s string) (string, error) {
		if s == "" {
			return "", errors.New("must not be empty")
		}
		return s, nil
	}}
}

// nullable returns a flag for a member of a patch that takes what v takes. The empty value,
// and each of the words, removes the member.
func nullable[T any](to *client.Nullable[T], v *value[T], words ...string) *value[client.Nullable[T]] {
	return &value[client.Nullable[T]]{To: to, Known: v.Known, Read: func(s string) (client.Nullable[T], error) {
		if s == "" || slices.Contains(words, s) {
			return client.Null[T](), nil
		}
		t, err := v.Read(s)
		return client.Set(t), err
	}}
}

// id returns a flag that takes an id.
func id(to *int64) *value[int64] { return config.Whole(to, 1, math.MaxInt64) }

// instantFlag returns a flag that takes an instant.
func instantFlag(to *time.Time) *value[time.Time] {
	return &value[time.Time]{To: to, Read: func(s string) (time.Time, error) {
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
	return &value[time.Duration]{To: to, Read: func(s string) (time.Duration, error) {
		d, err := config.ParseDuration(s)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return 0, errors.New("is too long")
		case err != nil:
			return 0, errors.New("must be a duration such as 30d, 12h or 1h30m")
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
	return &value[time.Time]{To: to, Read: func(s string) (time.Time, error) {
		d, err := after.Read(s)
		return a.now().Add(d), err
	}}
}

// atMost bounds what a flag of a duration takes, by whole days.
func atMost(most time.Duration, v *value[time.Duration]) *value[time.Duration] {
	read := v.Read
	v.Read = func(s string) (time.Duration, error) {
		d, err := read(s)
		if err == nil && d > most {
			err = fmt.Errorf("must be at most %.0fd", most.Hours()/24)
		}
		return d, err
	}
	return v
}

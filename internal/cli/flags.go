package cli

import (
	"errors"
	"time"

	"example.com/petstore/internal/config"
)

// A value is a flag whose text Read checks and converts.
type value[T any] = config.Value[T]

// text returns a flag that takes any text but none.
func text(to *string) *value[string] {
	return &value[string]{To: to, Read: func(s string) (string, error) {
		if s == "" {
			return "", errors.New("must not be empty")
		}
		return s, nil
	}}
}

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

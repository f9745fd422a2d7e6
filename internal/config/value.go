package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// A Value is the value of a flag or a setting: text that Read takes. The errors
// of Read say what would be right.
type Value[T any] struct {
	To   *T
	Read func(string) (T, error)

	list bool   // whether a further text adds to the one before, after a comma
	text string // as it was given
}

// Type implements pflag.Value.
func (*Value[T]) Type() string { return "value" }

// String implements pflag.Value.
func (v *Value[T]) String() string { return v.text }

// Set implements pflag.Value.
func (v *Value[T]) Set(s string) error {
	if v.list && v.text != "" {
		s = v.text + "," + s
	}
	t, err := v.Read(s)
	if err != nil {
		return err
	}
	*v.To, v.text = t, s
	return nil
}

// List returns a value that has several others: separated by commas, or each with a flag of its own.
func List[T any](to *[]T, one *Value[T]) *Value[[]T] {
	return &Value[[]T]{To: to, list: true, Read: func(s string) (all []T, err error) {
		for word := range strings.SplitSeq(s, ",") {
			v, err := one.Read(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}}
}

// Word returns a value that is one of the words.
func Word[T ~string](to *T, words ...T) *Value[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return &Value[T]{To: to, Read: func(s string) (T, error) {
		if !slices.Contains(known, s) {
			return "", fmt.Errorf("must be %s", english.WordSeries(known, "or"))
		}
		return T(s), nil
	}}
}

// Whole returns a value that is a whole number from least to most, which is
// [math.MaxInt64] for no bound.
func Whole[T ~int | ~int64](to *T, least, most int64) *Value[T] {
	return &Value[T]{To: to, Read: func(s string) (T, error) {
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

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
	To    *T
	Read  func(string) (T, error)
	Show  func(T) string // returns the value as text; nil to keep that which was read
	Known []string       // all that Read takes, if they are few words

	text string // as it was read last
}

// Type implements pflag.Value.
func (*Value[T]) Type() string { return "value" }

// String implements pflag.Value.
func (v *Value[T]) String() string {
	if v.Show == nil {
		return v.text
	}
	return v.Show(*v.To)
}

// Set implements pflag.Value.
func (v *Value[T]) Set(s string) error {
	t, err := v.Read(s)
	if err != nil {
		return err
	}
	*v.To, v.text = t, s
	return nil
}

// Words returns what Set takes, for completion.
func (v *Value[T]) Words() []string { return v.Known }

// List returns a value that has several others: separated by commas, or each with a flag of its own. The first ones replace the
// default.
func List[T any](to *[]T, one *Value[T]) *Value[[]T] {
	var given []T
	show := func(all []T) string {
		words := make([]string, len(all))
		for i, v := range all {
			words[i] = one.Show(v)
		}
		return strings.Join(words, ",")
	}
	if one.Show == nil {
		show = nil
	}
	return &Value[[]T]{To: to, Show: show, Known: one.Known, Read: func(s string) ([]T, error) {
		for word := range strings.SplitSeq(s, ",") {
			v, err := one.Read(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			given = append(given, v)
		}
		return given, nil
	}}
}

// Word returns a value that is one of the words.
func Word[T ~string](to *T, words ...T) *Value[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return &Value[T]{To: to, Known: known, Read: func(s string) (T, error) {
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

package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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

// A List is a value that has several others: separated by commas, or each with a
// flag of its own.
type List[T any] struct {
	To  *[]T
	One Value[T]

	given bool
	text  []string
}

// Type implements pflag.Value.
func (*List[T]) Type() string { return "list" }

// String implements pflag.Value.
func (l *List[T]) String() string {
	if l.One.Show == nil {
		return strings.Join(l.text, ",")
	}
	words := make([]string, len(*l.To))
	for i, one := range *l.To {
		words[i] = l.One.Show(one)
	}
	return strings.Join(words, ",")
}

// Set implements pflag.Value. The first values replace the default.
func (l *List[T]) Set(s string) error {
	var all []T
	if l.given {
		all = *l.To
	}
	words := strings.Split(s, ",")
	for i, word := range words {
		words[i] = strings.TrimSpace(word)
		one, err := l.One.Read(words[i])
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	*l.To, l.text, l.given = all, append(l.text, words...), true
	return nil
}

// Words returns what Set takes, for completion.
func (l *List[T]) Words() []string { return l.One.Known }

// Word returns a value that is one of the words.
func Word[T ~string](to *T, words ...T) *Value[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return &Value[T]{To: to, Known: known, Read: func(s string) (T, error) {
		if !slices.Contains(known, s) {
			last := len(known) - 1
			return "", fmt.Errorf("must be %s or %s", strings.Join(known[:last], ", "), known[last])
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

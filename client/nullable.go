package client

import "encoding/json"

// A Nullable is a member of a merge patch (RFC 7396) that can be left alone, removed or set. Its zero value leaves the
// member alone.
type Nullable[T any] struct {
	value    T
	sent     bool
	hasValue bool
}

// Set returns a member that becomes v.
func Set[T any](v T) Nullable[T] { return Nullable[T]{value: v, sent: true, hasValue: true} }

// Null returns a member that is removed.
func Null[T any]() Nullable[T] { return Nullable[T]{sent: true} }

// IsZero reports whether the member is left alone. Package encoding/json asks it.
func (n Nullable[T]) IsZero() bool { return !n.sent }

// MarshalJSON returns the value, or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if !n.hasValue {
		return []byte("null"), nil
	}
	return json.Marshal(n.value)
}

// UnmarshalJSON reads a value, or null.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	*n = Null[T]()
	if string(text) == "null" {
		return nil
	}
	n.hasValue = true
	return json.Unmarshal(text, &n.value)
}

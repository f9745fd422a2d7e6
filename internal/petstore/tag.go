package petstore

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
)

// A Tag is the opaque part of an entity tag (RFC 9110 §8.8.3), without the
// quotes: 16 characters derived from the canonical form, so that every node and
// every restored copy says the same of the same content.
type Tag string

// TagOf returns the tag of a canonical form.
func TagOf(body []byte) Tag {
	sum := sha256.Sum256(body)
	var text [16]byte
	base64.RawURLEncoding.Encode(text[:], sum[:12])
	return Tag(text[:])
}

// A TagSet is the value of If-Match or If-None-Match.
type TagSet struct {
	Any  bool // the value is "*"
	Tags []Tag
	Weak []Tag // the weak tags that were sent: by strong comparison they match nothing
}

// Has reports whether the set names tag.
func (s *TagSet) Has(tag Tag) bool { return s.Any || slices.Contains(s.Tags, tag) }

// A Condition guards a write (RFC 9110 §13.1). A nil member is no condition.
type Condition struct {
	IfMatch     *TagSet // by strong comparison: weak tags are in Weak
	IfNoneMatch *TagSet
}

// Check returns precondition_failed unless the condition holds for the current version.
func (c Condition) Check(now any) error {
	if c.IfMatch == nil && c.IfNoneMatch == nil {
		return nil
	}
	tag := TagOf(JSON(now))
	if c.IfMatch != nil && !c.IfMatch.Has(tag) {
		if slices.Contains(c.IfMatch.Weak, tag) {
			return Errorf(CodePreconditionFailed, "If-Match has the weak tag W/%q of the current version, and only the strong one matches: send %[1]q. A proxy that compresses responses makes tags weak.", tag)
		}
		return Errorf(CodePreconditionFailed, "If-Match does not name the current version, whose ETag is %q.", tag)
	}
	if c.IfNoneMatch != nil && c.IfNoneMatch.Has(tag) {
		return Errorf(CodePreconditionFailed, "If-None-Match names the current version.")
	}
	return nil
}

package cli

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"example.com/petstore/api"
)

// A description has what the commands need of the OpenAPI description of the API, or of the operator's API.
type description struct {
	*api.Description
	overrides    map[string]override
	forOperators bool
}

type (
	operation = api.Operation
	schema    = api.Schema
)

// readDescription returns the embedded description of the API.
func readDescription() *description { return &description{api.Parse(), apiOverrides, false} }

// readAdmin returns that of the operator's API.
func readAdmin() *description { return &description{api.ParseAdmin(), operatorOverrides, true} }

// result returns the schema of the successful response to o, or nil if it has no body.
func (d *description) result(o *operation) *schema {
	for _, r := range o.Responses {
		if body, found := r.Value.Content.Get("application/json"); found && strings.HasPrefix(r.Key, "2") {
			return d.Schema(body.Schema)
		}
	}
	return nil
}

// about returns the description of the tag of o.
func (d *description) about(o *operation) string {
	for _, t := range d.Tags {
		if slices.Contains(o.Tags, t.Name) {
			return plain(t.Description)
		}
	}
	return ""
}

// wordsOf returns the verb of an operationId, and what it is about: get and pet for getPet. An operationId of one word is a
// verb.
func wordsOf(id string) (verb, item string) {
	i := strings.IndexFunc(id, unicode.IsUpper)
	if i < 0 {
		return id, "resource"
	}
	return id[:i], strings.ToLower(id[i:])
}

// namesOf returns the noun and the verb of the command of o: orders of /store/orders, and rotate of /keys/{keyId}/rotate.
// If the path has no verb, it is that of the operationId.
func namesOf(o *operation) (noun, verb string) {
	verb, _ = wordsOf(o.OperationID)
	before, after, _ := strings.Cut(o.Path, "/{")
	if _, last, found := strings.Cut(after, "}/"); found {
		verb = path.Base(last)
	}
	return path.Base(before), verb
}

// label returns the name of a member in lower-case words: "ship date" for shipDate, and "category" for categoryId.
func label(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.TrimSuffix(strings.TrimSuffix(b.String(), " id"), " at")
}

// plain returns a text of the description, which is Markdown, as plain text in one line and without its last full stop.
func plain(markdown string) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.Join(strings.Fields(markdown), " "), "`", ""), ".")
}

// firstSentence returns a plain text up to the end of its first sentence.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return first
}

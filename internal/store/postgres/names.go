package postgres

import (
	"strings"
	"unicode"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// searchNames implements the Search of [store.Dialect]. "id + 0" keeps the planner from
// reading row after row by id, in the hope that some match soon.
func searchNames(_ int64, _ petstore.Page, _ int64, text string) *store.Search {
	pattern := trigramPattern(text)
	if pattern == "" {
		return nil
	}
	return &store.Search{From: "pets", Where: "folded LIKE ?", Args: []any{pattern}, OrderBy: "id + 0"}
}

// trigramPattern returns a pattern for LIKE that every name with the text fits, and that
// the index of names is searched by: the text in pieces of three to five letters, with
// anything between them. The trigrams of the whole text would take the index three times
// as long. It is empty if the index has no trigram of the text, which then is searched
// for in one name after the other.
func trigramPattern(text string) string {
	if !hasTrigram(text) {
		return ""
	}
	pattern, rest := "%", []rune(text)
	for len(rest) > 5 {
		pattern += likeEscaper.Replace(string(rest[:3])) + "%"
		rest = rest[3:]
	}
	return pattern + likeEscaper.Replace(string(rest)) + "%"
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// hasTrigram reports whether three letters or digits follow each other, which are a
// trigram wherever they stand.
func hasTrigram(text string) bool {
	n := 0
	for _, r := range text {
		if n++; !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			n = 0
		}
		if n == 3 {
			return true
		}
	}
	return false
}

package postgres

import (
	"strings"
	"unicode"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// searchNames implements the Search of [store.Dialect]. "id + 0" keeps the planner from
// scanning the rows in the order of the ids until enough of them match.
func searchNames(_ int64, _ petstore.Page, _ int64, text string) *store.Search {
	pattern := trigramPattern(text)
	if pattern == "" {
		return nil
	}
	return &store.Search{From: "pets", Where: "folded LIKE ?", Args: []any{pattern}, OrderBy: "id + 0"}
}

// trigramPattern returns a pattern for LIKE that matches every name which contains the
// text, and that the index of names can be searched by: the text in pieces of three to
// five letters, with anything between them. To search the index for all trigrams of the
// text would take three times as long. The pattern is empty if the index has no trigram
// of the text; then all names have to be read.
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

// hasTrigram reports whether three letters or digits follow each other. Only these make
// a trigram wherever they are in a name.
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

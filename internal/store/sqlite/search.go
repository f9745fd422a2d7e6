package sqlite

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
)

// The index of names is a table of FTS5 with every three letters of each name, see
// migrations/0001_init.sql. Its rows are numbered by workspace and id. The pets of a
// workspace that has other numbers than these are tested one by one.
const (
	idBits         = 40
	mostWorkspaces = 1 << (63 - idBits)
	mostPets       = 1 << idBits
)

// byNames returns the rest of a list of pets by the index of names. Texts of one or two
// letters have none.
func (l *list[T]) byNames(text string) func(*conn, petstore.Page) (*statement, error) {
	return func(c *conn, p petstore.Page) (*statement, error) {
		last, err := c.lastIDs(l.workspace)
		if err != nil || !searchable(text) || l.workspace >= mostWorkspaces || last.Pets >= mostPets {
			return nil, err
		}
		from, to, by := p.After, int64(mostPets), ""
		if p.Newest {
			from, to, by = 0, min(p.After, mostPets), " DESC"
		}
		term, err := c.rareTerm(l.workspace, from, min(to, last.Pets), text)
		if err != nil || term == "" {
			return nil, err
		}
		first := l.workspace << idBits
		s := &statement{args: []any{l.workspace, `"` + strings.ReplaceAll(asIndexed.Replace(term), `"`, `""`) + `"`, first + from, first + to, first}}
		s.WriteString("SELECT " + l.columns + " FROM pet_names CROSS JOIN pets ON workspace=+?1 AND id=pet_names.rowid-?5" +
			" WHERE pet_names MATCH ?2 AND pet_names.rowid>?3 AND pet_names.rowid<?4 AND " + s.where(" AND ", append(l.tests, l.equal...)))
		if len(l.lanes) > 0 {
			s.WriteString(" AND (" + s.where(" OR ", l.lanes) + ")")
		}
		s.WriteString(" ORDER BY pet_names.rowid" + by)
		return s, nil
	}
}

// termLetters is how many letters a term of the index of names has.
const termLetters = 3

func searchable(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) >= termLetters && !strings.ContainsFunc(text, unicode.IsControl)
}

// asIndexed replaces the letters that FTS5 reads as U+FFFD.
var asIndexed = strings.NewReplacer("\uFFFE", "\uFFFD", "\uFFFF", "\uFFFD")

// By which names is told which terms are rare: some of them at places of the same distance,
// since numbered names that follow one another are alike.
const (
	placesSeen = 20
	namesSeen  = 25 // at each place
	frequent   = 10 // one name in so many: to read these by the index takes longer than to test all

	selectNames = "SELECT folded FROM pets WHERE workspace=+?1 AND id>+?2 ORDER BY id LIMIT +?3"
)

// rareTerm returns the three letters of a text that are rarest in the names of the pets with
// ids between two. FTS5 compares a row with the bounds of a query only after it has found a
// match. With more letters it would read the names of other workspaces that have a part of
// them, up to the first that has them all. With one term the next row that has it is a match,
// and ends the search. If all are frequent it returns "".
func (c *conn) rareTerm(workspace, from, to int64, text string) (string, error) {
	letters := []rune(text)
	terms := make([]string, len(letters)-termLetters+1)
	for i := range terms {
		terms[i] = string(letters[i : i+termLetters])
	}
	seen, names := make([]int, len(terms)), 0
	for place := range int64(placesSeen) {
		for row, err := range c.query(selectNames, workspace, from+max(to-from, 0)/placesSeen*place, namesSeen) {
			if err != nil {
				return "", err
			}
			name := row.ColumnText(0)
			names++
			for i, term := range terms {
				if strings.Contains(name, term) {
					seen[i]++
				}
			}
		}
	}
	fewest := slices.Min(seen)
	if names == placesSeen*namesSeen && fewest > names/frequent {
		return "", nil
	}
	return terms[slices.Index(seen, fewest)], nil
}

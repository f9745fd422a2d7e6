package sqlite

import (
	"math"
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
		part, err := c.rarePart(l.workspace, p, text)
		if err != nil {
			return nil, err
		}
		from, to := l.workspace<<idBits+p.After, l.workspace<<idBits+mostPets
		_, by := order(p)
		if p.Newest {
			from, to = l.workspace<<idBits, l.workspace<<idBits+min(p.After, mostPets)
		}
		s := &statement{args: []any{l.workspace, `"` + strings.ReplaceAll(asIndexed.Replace(part), `"`, `""`) + `"`, from, to, l.workspace << idBits}}
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

const (
	partLetters = 5   // are looked for
	namesSeen   = 500 // by which is told which are rare

	selectNames     = "SELECT folded FROM pets WHERE workspace=+?1 AND id>+?2 ORDER BY id LIMIT +?3"
	selectNamesBack = "SELECT folded FROM pets WHERE workspace=+?1 AND id<+?2 ORDER BY id DESC LIMIT +?3"
)

// rarePart returns five letters of a text: those whose parts of three letters are rarest in
// the next names. FTS5 reads all names that have any three letters of what it looks for,
// so a long text would take up to ten times as long.
func (c *conn) rarePart(workspace int64, p petstore.Page, text string) (string, error) {
	letters := []rune(text)
	if len(letters) <= partLetters {
		return text, nil
	}
	terms := make([]string, len(letters)-termLetters+1)
	for i := range terms {
		terms[i] = string(letters[i : i+termLetters])
	}
	seen := make([]int, len(terms))
	query := selectNames
	if p.Newest {
		query = selectNamesBack
	}
	for row, err := range c.query(query, workspace, p.After, namesSeen) {
		if err != nil {
			return "", err
		}
		name := row.ColumnText(0)
		for i, term := range terms {
			if strings.Contains(name, term) {
				seen[i]++
			}
		}
	}
	from, fewest := 0, math.MaxInt
	for i := range len(letters) - partLetters + 1 {
		if all := seen[i] + seen[i+1] + seen[i+2]; all < fewest {
			from, fewest = i, all
		}
	}
	return string(letters[from : from+partLetters]), nil
}

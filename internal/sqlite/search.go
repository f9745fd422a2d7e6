package sqlite

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// search returns a page of pets by a part of their names.
func (db *DB) search(ctx context.Context, workspace int64, q petstore.PetQuery) (found []petstore.Pet, err error) {
	err = db.readLong(ctx, snapshot(func(c *conn) (err error) {
		found, err = (&search{c, workspace, q, db.effort}).run()
		return err
	}))
	return found, err
}

// A search is one on its way: q.After and q.Limit say what is left of the page.
type search struct {
	*conn
	workspace int64
	q         petstore.PetQuery
	effort    searchEffort
}

func (s *search) run() ([]petstore.Pet, error) {
	first := s.effort.first
	if utf8.RuneCountInString(s.q.Name) < termRunes {
		first = s.effort.short
	}
	begin, err := petList(s.workspace, s.q).begin(s.conn)
	if err != nil {
		return nil, err
	}
	s.q.Page = begin
	end, _ := stretch(s.q.Page, first)
	found, err := s.test(nil, end)
	if err != nil || s.q.Limit <= 0 {
		return found, err
	}
	to := lastIndexed(s.workspace)
	if s.q.Newest {
		return s.runBack(found, to)
	}
	if to > s.q.After {
		if found, err = s.lookUp(found, to); err != nil || s.q.Limit <= 0 {
			return found, err
		}
	}
	return s.test(found, petstore.MaxID)
}

// runBack is for the rest of a page with the newest first, given the last id that may be
// indexed.
func (s *search) runBack(found []petstore.Pet, last int64) (_ []petstore.Pet, err error) {
	if s.q.After > last+1 {
		if found, err = s.test(found, last+1); err != nil || s.q.Limit <= 0 {
			return found, err
		}
	}
	if found, err = s.lookUp(found, last); err != nil || s.q.Limit <= 0 {
		return found, err
	}
	return s.test(found, 1)
}

// test appends what is found by testing one by one up to an id, or down to it.
func (s *search) test(found []petstore.Pet, end int64) ([]petstore.Pet, error) {
	l := petList(s.workspace, s.q)
	within := filter{upTo, end}
	if s.q.Newest {
		within.sql = downTo
	}
	l.filters = append(l.filters, within)
	more, err := l.run(s.conn)
	s.q.After, s.q.Limit = end, s.q.Limit-len(more)
	return append(found, more...), err
}

// lookUp appends what the index has, which is up to an id. If few rows pass the other filters,
// or too many terms begin with the text, it leaves all to test.
func (s *search) lookUp(found []petstore.Pet, to int64) ([]petstore.Pet, error) {
	if few, err := s.few(); err != nil || few {
		return found, err
	}
	match, known, err := s.match()
	if err != nil || !known {
		return found, err
	}
	if match != "" {
		n := len(found)
		if found, err = s.named(found, match, to); err != nil {
			return nil, err
		}
		s.q.Limit -= len(found) - n
	}
	if s.q.After = to; s.q.Newest {
		s.q.After = 1
	}
	return found, nil
}

// few reports whether few rows pass the other filters.
func (s *search) few() (bool, error) {
	if s.q.CategoryID == 0 && len(s.q.Statuses) == 0 {
		return false, nil
	}
	q := s.q
	q.Name, q.Limit = "", s.effort.few
	l := petList(s.workspace, q)
	ids := idsOf("pets", l.index, s.workspace, l.lanes, l.filters...)
	ids.page = q.Page
	found, err := ids.run(s.conn)
	return len(found) < s.effort.few, err
}

const fromNames = "SELECT p.id, p.name, p.category, p.status FROM pet_names n CROSS JOIN pets p ON p.workspace=?1 AND p.id=n.rowid-(?1<<40)" +
	" WHERE n.pet_names MATCH ?2 AND n.rowid>(?1<<40)+?3 AND n.rowid<=(?1<<40)+?4 AND instr(p.folded,?5)>0"

// named appends what a query of the index finds up to an id, and passes all filters.
func (s *search) named(found []petstore.Pet, match string, to int64) ([]petstore.Pet, error) {
	after, order := s.q.After, " ORDER BY n.rowid LIMIT ?"
	if s.q.Newest {
		after, to, order = 0, min(to, s.q.After-1), " ORDER BY n.rowid DESC LIMIT ?"
	}
	query, args := fromNames, []any{s.workspace, match, after, to, s.q.Name}
	if s.q.CategoryID != 0 {
		query, args = query+" AND p.category=?", append(args, s.q.CategoryID)
	}
	for _, test := range statusTests(s.q.Statuses) {
		query, args = query+" AND p.status<>?", append(args, test.arg)
	}
	err := s.each(query+order, func(row *sqlite.Stmt) { found = append(found, scanPet(row)) }, append(args, s.q.Limit)...)
	return found, err
}

// match returns the query of the index whose rows may have the text, "" if none have,
// and whether there is such a query.
func (s *search) match() (query string, known bool, err error) {
	if !utf8.ValidString(s.q.Name) || strings.ContainsFunc(s.q.Name, unicode.IsControl) {
		return "", false, nil
	}
	if utf8.RuneCountInString(s.q.Name) < termRunes {
		terms, err := s.beginning(asIndexed.Replace(s.q.Name))
		return join(terms, " OR "), len(terms) <= s.effort.terms, err
	}
	terms, err := s.rare()
	return join(terms, " AND "), true, err
}

func join(terms []string, operator string) string {
	quoted := make([]string, len(terms))
	for i, term := range terms {
		quoted[i] = `"` + strings.ReplaceAll(term, `"`, `""`) + `"`
	}
	return strings.Join(quoted, operator)
}

const selectTerm = "SELECT term FROM pet_name_terms WHERE term>? AND term<? LIMIT 1"

// beginning returns the terms of the index that begin with a text, or more than
// effort.terms of them.
func (s *search) beginning(text string) (terms []string, err error) {
	for after, found := text, true; found && err == nil && len(terms) <= s.effort.terms; {
		found, err = s.one(selectTerm, func(row *sqlite.Stmt) {
			after = row.ColumnText(0)
			terms = append(terms, after)
		}, after, text+"\U0010ffff\U0010ffff\U0010ffff")
	}
	return terms, err
}

const (
	mostTerms   = 3 // of a text are looked up; rows that have them are tested
	places      = 16
	selectNames = "SELECT folded FROM pets WHERE workspace=? AND id>? ORDER BY id LIMIT ?"
)

// rare returns the terms of the text that the fewest names have, of 32 at each of some places
// in the workspace. Names that follow each other are cheap to read. With many terms there are
// fewer names, since each is searched for each term.
func (s *search) rare() ([]string, error) {
	terms := termsOf(s.q.Name)
	if len(terms) <= 1 {
		return terms, nil
	}
	atPlace, names := min(32, 1+400/len(terms)), 0
	last, err := s.lastIDs(s.workspace)
	seen := make(map[string]int, len(terms))
	for i := int64(0); err == nil && i < places; i++ {
		err = s.each(selectNames, func(row *sqlite.Stmt) {
			names++
			name := row.ColumnText(0)
			for _, term := range terms {
				if strings.Contains(name, term) {
					seen[term]++
				}
			}
		}, s.workspace, last.Pets/places*i, atPlace)
	}
	slices.SortStableFunc(terms, func(a, b string) int { return seen[a] - seen[b] })
	frequent := func(term string) bool { return seen[term] > names/16 }
	return apartFirst(s.q.Name, terms, frequent)[:min(len(terms), mostTerms)], err
}

// apartFirst puts the terms of a text that share letters with one before them, or are frequent,
// behind the others: those of one word match the same names.
func apartFirst(text string, terms []string, frequent func(string) bool) []string {
	var apart, rest []string
	for _, term := range terms {
		at := strings.Index(text, term)
		shared := slices.ContainsFunc(apart, func(other string) bool {
			begin := strings.Index(text, other)
			return begin < at+len(term) && at < begin+len(other)
		})
		if shared || frequent(term) {
			rest = append(rest, term)
		} else {
			apart = append(apart, term)
		}
	}
	return append(apart, rest...)
}

package interchange

import (
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
)

// A layout has the index of each column in a record.
type layout struct {
	at     map[string]int // of the columns that are there
	named  []bool         // which columns have a name; the others must be empty
	spaced bool           // there are spaces around names, and so probably around cells
}

// layoutOf reads the line of column names, which may be in any order and any letter
// case. The columns in ignore are left out.
func layoutOf(header []string, line int, ignore []string) (layout, error) {
	l := layout{at: map[string]int{}, named: make([]bool, len(header))}
	known, unknown := strings.Join(columns(), ", "), []string{}
	for i, cell := range header {
		name := plain(cell)
		l.spaced = l.spaced || strings.TrimSpace(cell) != cell
		l.named[i] = name != ""
		at, twice := l.at[name]
		switch ignored := slices.ContainsFunc(ignore, func(other string) bool { return plain(other) == name }); {
		case name == "", ignored:
		case !slices.Contains(columns(), name):
			unknown = append(unknown, quoted(cell))
		case twice:
			return l, finalf(line, "the column %s occurs twice, as number %d and %d", name, at+1, i+1)
		default:
			l.at[name] = i
		}
	}
	for _, name := range ignore {
		if !slices.ContainsFunc(header, func(cell string) bool { return plain(cell) == plain(name) }) {
			return l, finalf(line, "there is no column %s to ignore; the columns of the file are %s", quoted(name), strings.Join(header, ", "))
		}
	}
	if len(unknown) > 0 {
		return l, finalf(line, "there is no column %s; the columns are %s; --ignore-columns leaves others out", petstore.Shorten(strings.Join(unknown, ", "), 80), known)
	}
	for _, name := range []string{"name", "category"} {
		if !l.has(name) && !l.has("id") {
			return l, finalf(line, "the column %s is missing; the first line must name the columns: %s", name, known)
		}
	}
	return l, nil
}

func (l *layout) has(column string) bool {
	_, ok := l.at[column]
	return ok
}

// text returns the text in a column of a record. Cells that are missing are empty.
func (l *layout) text(record []string, column string) string {
	if i, ok := l.at[column]; ok && i < len(record) {
		return Unescape(record[i])
	}
	return ""
}

// plain returns the form of a column's name that is compared.
func plain(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// stray returns the first column without a name that contains text, counting from 1.
func (l *layout) stray(cells []string) (column int, found bool) {
	for i, cell := range cells {
		if (i >= len(l.named) || !l.named[i]) && strings.TrimSpace(cell) != "" {
			return i + 1, true
		}
	}
	return 0, false
}

// separatorOf returns the separator of the columns, going by the first line: the comma, or the semicolon or tab that
// programs in some countries write. said is whether the line is a declaration such as sep=; instead of the header.
func separatorOf(start []byte) (separator rune, said bool) {
	line, _, _ := strings.Cut(string(start), "\n")
	if rest, ok := strings.CutPrefix(strings.ToLower(strings.Trim(line, "\"\r ")), "sep="); ok && len(rest) == 1 && strings.ContainsRune(",;|\t", rune(rest[0])) {
		return rune(rest[0]), true
	}
	best := ','
	for _, r := range ";\t" {
		if strings.Count(line, string(r)) > strings.Count(line, string(best)) {
			best = r
		}
	}
	return best, false
}

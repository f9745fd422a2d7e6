package interchange

import (
	"fmt"
	"slices"
	"strings"
)

// A layout has the index of each column in a record; -1 if there is no such column.
type layout struct {
	id, name, category, status, stock, add, version int

	named  []bool // which columns have a name; the others must be empty
	spaced bool   // there are spaces around names, and so probably around cells
}

// layoutOf reads the line of column names, which may be in any order and any letter
// case. The columns in ignore are left out.
func layoutOf(header []string, line int, ignore []string) (layout, error) {
	if len(header) > maxColumns {
		return layout{}, tooWide(line)
	}
	found, unknown, left := map[string]int{}, []string{}, map[string]bool{}
	l := layout{named: make([]bool, len(header))}
	for _, name := range ignore {
		left[plain(name)] = true
	}
	for i, cell := range header {
		name := plain(cell)
		l.spaced = l.spaced || strings.TrimSpace(cell) != cell
		if l.named[i] = name != ""; !l.named[i] {
			continue
		}
		if _, ok := left[name]; ok {
			left[name] = false
			continue
		}
		switch at, twice := found[name]; {
		case !slices.Contains(columns(), name):
			unknown = append(unknown, fmt.Sprintf("there is no column %s%s", quoted(cell), meant(name)))
		case twice:
			return layout{}, finalf(line, "the column %s occurs twice, as number %d and %d", name, at+1, i+1)
		}
		found[name] = i
	}
	if i := slices.IndexFunc(ignore, func(name string) bool { return left[plain(name)] }); i >= 0 {
		return layout{}, finalf(line, "there is no column %s to ignore; the columns of the file are %s", quoted(ignore[i]), strings.Join(header, ", "))
	}
	if len(unknown) > 0 {
		return layout{}, finalf(line, "%s; the columns are %s; --ignore-columns leaves others out", firstOf(unknown), strings.Join(columns(), ", "))
	}
	place := func(name string) int {
		if i, ok := found[name]; ok {
			return i
		}
		return -1
	}
	l.id, l.name, l.category, l.status, l.stock, l.add, l.version = place("id"), place("name"), place("category"), place("status"), place("stock"), place("add"), place("version")
	for _, name := range []string{"name", "category"} {
		if place(name) < 0 && l.id < 0 {
			return layout{}, finalf(line, "the column %s is missing; the first line must name the columns: %s", name, strings.Join(columns(), ", "))
		}
	}
	return l, nil
}

// firstOf joins the first reasons, as many as fit in a line, and says how many more there are.
func firstOf(reasons []string) string {
	const room = 80
	text := reasons[0]
	for i, reason := range reasons[1:] {
		if len(text)+len(reason) > room {
			return fmt.Sprintf("%s; %d more", text, len(reasons)-1-i)
		}
		text += "; " + reason
	}
	return text
}

// plain returns the form of a column's name that is compared.
func plain(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// meant returns a question with the column that name is a synonym for, or "".
func meant(name string) string {
	synonyms := map[string][]string{
		"id":       {"pet id", "petid", "number", "no"},
		"name":     {"pet", "animal", "pet name", "petname", "title"},
		"category": {"kind", "type", "species", "group", "category name", "categoryname"},
		"status":   {"state", "availability"},
		"stock":    {"quantity", "qty", "count", "amount", "units", "inventory", "in stock"},
	}
	for _, column := range columns() {
		if slices.Contains(synonyms[column], name) {
			return fmt.Sprintf("; did you mean %s?", column)
		}
	}
	return ""
}

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

package store

import (
	"strings"
	"unicode/utf8"
)

// The row of a workspace in counters has the letters of all names that its pets ever had.
// So a search for a text with another letter, which no index of names has if the text is
// short, ends at once. Where there are mostLetters, as in Chinese, no more are added, and
// they say nothing.
const mostLetters = 500

const (
	selectLetters = "SELECT letters FROM counters WHERE workspace = $1"
	addLetters    = "UPDATE counters SET letters = letters || $1 WHERE workspace = $2 AND length(letters) < $3"
)

// keepLetters adds the statement for the letters of names that the workspace had not when
// its ids were issued.
func (w *groupedWorkspace) keepLetters(b *Batch) {
	if added := strings.TrimPrefix(lettersOf(w.letters, w.named), w.letters); added != "" {
		b.Exec(addLetters, added, w.id, mostLetters)
	}
}

// lettersOf returns the letters, and those of the text that are not among them, as long as
// there may be fewer than mostLetters.
func lettersOf(letters, text string) string {
	for _, r := range text {
		if len(letters) < utf8.UTFMax*mostLetters && !strings.ContainsRune(letters, r) {
			letters += string(r)
		}
	}
	return letters
}

// noNameHas reports whether it is sure that no pet of the workspace has a name with the text.
func noNameHas(tx Tx, workspace int64, text string) (sure bool, err error) {
	letters := ""
	found, err := one(tx, selectLetters, func(row Row) error { return row.Scan(&letters) }, workspace)
	return found && lettersLack(letters, text), err
}

func lettersLack(letters, text string) bool {
	return utf8.RuneCountInString(letters) < mostLetters && lettersOf(letters, text) != letters
}

// checkLetters makes sure that no search misses a pet.
func checkLetters(tx Tx, report Report) error {
	return Each(tx, "SELECT p.workspace, p.id, p.folded, c.letters FROM pets p JOIN counters c ON c.workspace = p.workspace", func(row Row) error {
		var pet rowID
		var name, letters string
		err := row.Scan(&pet.workspace, &pet.id, &name, &letters)
		if lettersLack(letters, name) {
			report("names: %v: its name has letters that its workspace does not have, and searches may miss it", pet)
		}
		return err
	})
}

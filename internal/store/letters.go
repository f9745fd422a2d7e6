package store

import (
	"strings"
	"unicode/utf8"
)

// The row of a workspace in counters has the letters of all names that its pets ever had.
// So a search for a text with another letter ends at once, even if the text is too short
// for the index of names. At most about mostLetters are stored; a workspace that has as
// many, as with Chinese names, cannot exclude any text.
const mostLetters = 500

const (
	selectLetters = "SELECT letters FROM counters WHERE workspace = $1"
	addLetters    = "UPDATE counters SET letters = letters || $1 WHERE workspace = $2 AND length(letters) < $3"
)

// keepLetters adds the statement that stores the letters of new names which the workspace
// did not have when its ids were issued.
func (w *groupedWorkspace) keepLetters(b *Batch) {
	if added := strings.TrimPrefix(lettersOf(w.letters, w.named), w.letters); added != "" {
		b.Exec(addLetters, added, w.id, mostLetters)
	}
}

// lettersOf returns the letters with those of the text that are not among them, up to
// about mostLetters.
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

// checkLetters reports pets that a search may miss because of missing letters.
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

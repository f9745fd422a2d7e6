package postgres

import (
	"context"
	"strings"
	"unicode"
)

// selectNamed asks whether there is an index of names that can be used. The migration
// makes one if it may create the extensions for it; an administrator can do so later.
const selectNamed = "SELECT EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('petstore.pet_names_by_part') AND indisvalid)"

// unnamed says what it means that there is none.
const unnamed = "there is no index of names: a search by name reads all pets of the workspace"

func (db *DB) findNames(ctx context.Context) error {
	if err := db.readers.QueryRow(ctx, selectNamed).Scan(&db.named); err != nil {
		return err
	}
	if !db.named {
		db.log.Warn(unnamed, "database", db.name)
	}
	return nil
}

var inPattern = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// containing returns the pattern of LIKE for the texts that contain part.
func containing(part string) string { return "%" + inPattern.Replace(part) + "%" }

// hasTrigram reports whether the index of names can find a text: it knows words by
// three letters or digits in a row.
func hasTrigram(text string) bool {
	row := 0
	for _, r := range text {
		if row++; !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			row = 0
		}
		if row == 3 {
			return true
		}
	}
	return false
}

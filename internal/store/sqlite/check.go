package sqlite

import "example.com/petstore/internal/store"

// checks are what is checked in a file alone.
func checks() store.Checks { return store.Checks{Structure: checkStructure, Rows: checkNames} }

func checkStructure(tx store.Tx, report store.Report) error {
	// FTS5 has to look at the file first: else it may check what it remembers of an
	// earlier state.
	for _, err := range tx.Query("SELECT rowid FROM pet_names WHERE pet_names MATCH 'any'") {
		if err != nil {
			return err
		}
		break
	}
	for row, err := range tx.Query("PRAGMA integrity_check(100)") {
		if err != nil {
			return err
		}
		var text string
		if err := row.Scan(&text); err != nil {
			return err
		}
		if text != "ok" {
			report("structure: %s", text)
		}
	}
	return nil
}

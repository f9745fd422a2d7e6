package sqlite

import "example.com/petstore/internal/store"

// ledgers follows the ledger of each pet, because sorting all movements would take memory
// or temporary files. Without the LIMIT the inner ORDER BY would have no effect.
const ledgers = "SELECT " + store.LedgerColumns + ` FROM (SELECT m.* FROM (
		SELECT workspace, id AS pet, last_movement AS last FROM pets WHERE workspace = $1
		UNION ALL
		SELECT workspace, pet, id FROM movements d WHERE kind = 'deleted' AND workspace = $1
			AND NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace = d.workspace AND p.id = d.pet)
		ORDER BY 2 LIMIT -1) AS h
	CROSS JOIN json_each((WITH RECURSIVE chain (id, before) AS (
			SELECT id, before FROM movements WHERE workspace = h.workspace AND id = h.last AND pet = h.pet
			UNION ALL
			SELECT b.id, b.before FROM chain c JOIN movements b ON b.workspace = h.workspace AND b.id = c.before AND b.pet = h.pet AND b.id < c.id)
		SELECT json_group_array(id ORDER BY id) FROM chain)) AS j
	CROSS JOIN movements m ON m.workspace = h.workspace AND m.id = j.value)`

func checkStructure(tx store.Tx, report store.Report) error {
	// A query makes FTS5 read the file: otherwise it may check what it has cached of an
	// earlier state.
	if _, err := store.First(tx, "SELECT rowid FROM pet_names WHERE pet_names MATCH 'any'", func(store.Row) error { return nil }); err != nil {
		return err
	}
	return store.Each(tx, "PRAGMA integrity_check(100)", func(row store.Row) error {
		var text string
		err := row.Scan(&text)
		if text != "ok" {
			report("structure: %s", text)
		}
		return err
	})
}

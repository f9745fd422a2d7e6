package sqlite

import (
	"testing"

	"zombiezen.com/go/sqlite"
)

// A statement is planned once, also if it has a limit or may use a partial index.
func TestPlansStay(t *testing.T) {
	t.Parallel()
	raw, err := sqlite.OpenConn(":memory:")
	must(t, err)
	c := &conn{Conn: raw}
	t.Cleanup(func() { c.Close() })
	must(t, c.exec("CREATE TABLE pets (id INTEGER PRIMARY KEY, status TEXT, quantity INTEGER)"))
	must(t, c.exec("CREATE INDEX low ON pets (quantity) WHERE status = 'sold'"))
	planned := 0
	must(t, c.SetAuthorizer(sqlite.AuthorizeFunc(func(sqlite.Action) sqlite.AuthResult {
		planned++ // SQLite asks for each thing that a statement does, when it plans the statement
		return sqlite.AuthResultOK
	})))
	for query, args := range map[string][]any{
		"SELECT id FROM pets ORDER BY id LIMIT $1":                          {int64(1)},
		"SELECT id FROM pets WHERE status = $1 AND quantity > $2":           {"sold", int64(1)},
		"INSERT INTO pets (status, quantity) SELECT $1, $2 WHERE $2 < $3":   {"new", int64(1), int64(2)},
		"DELETE FROM pets WHERE id IN (SELECT id FROM pets LIMIT $1)":       {int64(1)},
		"SELECT id FROM pets WHERE (status, id) > ($1, $2) ORDER BY status": {"new", int64(1)},
	} {
		for n := range 3 {
			planned = 0
			must(t, c.exec(query, args...))
			if (planned > 0) != (n == 0) {
				t.Errorf("%s: in run %d SQLite planned it: %v, want only in the first", query, n, planned > 0)
			}
		}
	}
}

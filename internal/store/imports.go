package store

import (
	"context"
	"fmt"
	"strconv"
)

// importPrefix begins the names of what is remembered of the imports into a
// workspace.
func importPrefix(workspace int64) string { return fmt.Sprintf("import:%d:", workspace) }

// Reach remembers that the file with the digest is kept in the workspace up to
// the line; 0 forgets it.
func Reach(tx Tx, workspace int64, digest string, line int) error {
	name := importPrefix(workspace) + digest
	if line == 0 {
		return exec(tx, "DELETE FROM meta WHERE name = $1", name)
	}
	return exec(tx, "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		name, []byte(strconv.Itoa(line)))
}

// Reached returns the last line of the file with the digest that an import into
// the workspace, which was cut off, has kept; 0 if there was none.
func (s *Store) Reached(ctx context.Context, workspace int64, digest string) (line int, err error) {
	value, err := read(ctx, s, func(tx Tx) ([]byte, error) { return metaOf(tx, importPrefix(workspace)+digest) })
	if err != nil || value == nil {
		return 0, err
	}
	return strconv.Atoi(string(value))
}

// forgetImports removes what is remembered of the imports into a workspace.
func forgetImports(tx Tx, workspace int64) error {
	return exec(tx, "DELETE FROM meta WHERE name LIKE $1", importPrefix(workspace)+"%")
}

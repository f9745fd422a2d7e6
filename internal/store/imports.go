package store

import (
	"context"
	"fmt"
	"strconv"
)

// importPrefix begins the names under which the table meta has the imports into a
// workspace that were interrupted.
func importPrefix(workspace int64) string { return fmt.Sprintf("import:%d:", workspace) }

// rememberImport stores up to which line the file with the digest has been imported
// into the workspace; 0 forgets it.
func rememberImport(tx Tx, workspace int64, digest string, line int) error {
	name := importPrefix(workspace) + digest
	if line == 0 {
		return exec(tx, "DELETE FROM meta WHERE name = $1", name)
	}
	return SetMeta(tx, name, []byte(strconv.Itoa(line)))
}

// ImportedThrough implements [petstore.Bulk].
func (s *Store) ImportedThrough(ctx context.Context, workspace int64, digest string) (line int, err error) {
	value, err := read(ctx, s, func(tx Tx) ([]byte, error) { return MetaOf(tx, importPrefix(workspace)+digest) })
	if err != nil || value == nil {
		return 0, err
	}
	return strconv.Atoi(string(value))
}

// forgetImports removes what rememberImport has stored of a workspace.
func forgetImports(tx Tx, workspace int64) error {
	return exec(tx, "DELETE FROM meta WHERE name LIKE $1", importPrefix(workspace)+"%")
}

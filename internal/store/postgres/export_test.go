package postgres

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// TrigramPattern is by what the index of names is asked for a text.
var TrigramPattern = trigramPattern

// Dialect is how the SQL of lists differs for PostgreSQL.
var Dialect = dialect

// ConnectReading returns a connection that is set up as those are which the store reads by.
func ConnectReading(ctx context.Context, url string) (*pgx.Conn, error) {
	return connect(ctx, url, reading)
}

// Scripts returns the texts of the migrations by their version.
func Scripts() map[int]string {
	scripts := map[int]string{}
	for version := 1; version <= known.Latest(); version++ {
		scripts[version] = known.Script(version)
	}
	return scripts
}

// MigrateFurther migrates the database as a later version would, which has one more
// migration.
func MigrateFurther(ctx context.Context, url, script string) (applied []store.Migration, err error) {
	files := fstest.MapFS{fmt.Sprintf("migrations/%04d_further.sql", known.Latest()+1): {Data: []byte(script)}}
	for version := 1; version <= known.Latest(); version++ {
		files[fmt.Sprintf("migrations/%04d_of_today.sql", version)] = &fstest.MapFile{Data: []byte(known.Script(version))}
	}
	err = administer(ctx, url, func(c *pgx.Conn) error {
		applied, err = migrate(ctx, c, store.LoadMigrations(files), time.Now)
		return err
	})
	return applied, err
}

// SettingsOf returns some settings of a session that writes.
func SettingsOf(t *testing.T, db *DB) string {
	t.Helper()
	var settings string
	err := db.writer.QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('transaction_isolation'), current_setting('transaction_read_only'),
		current_setting('search_path'), current_setting('statement_timeout'), current_setting('synchronous_commit'), current_setting('idle_session_timeout'))`).Scan(&settings)
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

package postgres

import (
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
)

// TestPooler: behind PgBouncer with sessions a node works, and its tables are in their
// schema. Where sessions are shared, it is refused in a line, and nothing is made, nor
// set in a session that others get.
func TestPooler(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	for _, c := range []struct {
		mode string
		want string // in the error
	}{
		{"session", ""},
		{"transaction", "set pool_mode = session"},
		{"statement", "set pool_mode = session"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			name, err := server.Create(t.Context(), "")
			must(t, err)
			execute(t, server.URL(name), "ALTER DATABASE "+name+" SET log_statement = 'all'")
			db, err := Open(t.Context(), server.Pooler(t, c.mode, name)+"&petstore.note=of-"+name, Options{})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("Open = %v, want one line with %q", err, c.want)
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				workspace, pet := newStocked(t, db, 5)
				wantOrder(t, db, workspace, pet)
				wantSound(t, db)
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
			if set := strings.Contains(server.Log(), `"of-`+name+`"`); set != (db != nil) {
				t.Errorf("settings reached the server: %t, want %t", set, db != nil)
			}
			var tables string
			c := direct(t, server.URL(name))
			err = c.QueryRow(t.Context(), "SELECT coalesce(string_agg(DISTINCT schemaname, ' '), '') FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')").Scan(&tables)
			if want := map[bool]string{true: "petstore", false: ""}[db != nil]; err != nil || tables != want {
				t.Errorf("the schemas with tables are %q, %v, want %q", tables, err, want)
			}
		})
	}
}

// TestSettingsOfTheRole: what was set for a role or a database changes nothing that
// the statements rely on.
func TestSettingsOfTheRole(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	var all strings.Builder
	for setting, value := range map[string]string{
		"default_transaction_isolation": "'serializable'", "default_transaction_read_only": "on", "default_transaction_deferrable": "on",
		"search_path": "public", "standard_conforming_strings": "off", "bytea_output": "escape", "datestyle": "'German'",
		"intervalstyle": "iso_8601", "timezone": "'Asia/Tokyo'", "statement_timeout": "3000", "lock_timeout": "3000",
		"idle_in_transaction_session_timeout": "3000", "idle_session_timeout": "3000", "synchronous_commit": "off",
		"client_min_messages": "error",
	} {
		fmt.Fprintf(&all, "EXECUTE format('ALTER DATABASE %%I SET %s = %s', current_database());", setting, strings.ReplaceAll(value, "'", "''"))
	}
	execute(t, url, "DO $$ BEGIN "+all.String()+" END $$") // what comes after it has all of them
	db := node(t, url, Options{})
	workspace, pet := newStocked(t, db, petstore.MaxQuantity)
	other := node(t, url+"&target_session_attrs=read-write", Options{})
	ofHosts := node(t, strings.Replace(url, "&", "%2C%2Fnowhere&", 1), Options{}) // host is the first parameter
	crowd := buy(t, workspace, pet, 16, db, other, ofHosts)
	crowd.more(200)
	crowd.wantKept(db)
	if n := crowd.outages.Load(); n > 0 {
		t.Errorf("%d writes were unavailable, want none", n)
	}
	if got := settingsOf(t, db); got != "read committed off petstore 0 on 0" {
		t.Errorf("settings of a session that writes = %q", got)
	}
}

// TestSettingsOfTheURL: what the database's URL says goes before what a session would
// have, but not before what the statements rely on; a setting that does not exist is an
// error.
func TestSettingsOfTheURL(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url+`&statement_timeout=7s&synchronous_commit=remote_apply&Search_Path=public&petstore.note=it's%20\`, Options{})
	if got := settingsOf(t, db); got != "read committed off petstore 7s remote_apply 0" {
		t.Errorf("settings of a session that writes = %q", got)
	}
	if _, err := Open(t.Context(), url+"&no_setting=1", Options{}); err == nil || !strings.Contains(err.Error(), "no_setting") {
		t.Errorf("Open with a setting that does not exist = %v, want it named", err)
	}
}

// settingsOf returns some settings of a session that writes.
func settingsOf(t *testing.T, db *DB) string {
	t.Helper()
	var settings string
	err := db.writer.QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('transaction_isolation'), current_setting('transaction_read_only'),
		current_setting('search_path'), current_setting('statement_timeout'), current_setting('synchronous_commit'), current_setting('idle_session_timeout'))`).Scan(&settings)
	must(t, err)
	return settings
}

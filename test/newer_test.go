package test

import (
	"github.com/rogpeppe/go-internal/testscript"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// newer notes a migration that no version knows yet.
func newer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: newer FILE")
	}
	conn, err := sqlite.OpenConn(ts.MkAbs(args[0]), sqlite.OpenReadWrite)
	ts.Check(err)
	defer conn.Close()
	ts.Check(sqlitex.ExecuteScript(conn, "INSERT INTO migrations (version, name, at) VALUES (999, 'from_tomorrow', 0)", nil))
}

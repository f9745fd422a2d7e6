package sqlite

import (
	"os"
	"testing"
)

// A page that is written into the log before its transaction ends makes all the
// frames behind it dear if it changes again.
func TestLargeGroupsWriteNothingEarly(t *testing.T) {
	db := openTest(t, Options{})
	written := func(pages int) (early int64) {
		t.Helper()
		err := db.change(t.Context(), func(c *conn) error {
			before, err := logSize(db)
			if err != nil {
				return err
			}
			if err := c.exec("CREATE TABLE IF NOT EXISTS wide (bytes BLOB)"); err != nil {
				return err
			}
			err = c.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?1)
				INSERT INTO wide (bytes) SELECT zeroblob(4000) FROM n`, pages)
			if err != nil {
				return err
			}
			after, err := logSize(db)
			early = after - before
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return early
	}
	if early := written(3 * writerPages); early != 0 {
		t.Errorf("a transaction of %d pages wrote %d bytes before it ended", 3*writerPages, early)
	}
	if written(2*unspilledPages) == 0 {
		t.Errorf("a transaction of %d pages is all in memory", 2*unspilledPages)
	}
}

func logSize(db *DB) (int64, error) {
	info, err := os.Stat(db.path + "-wal")
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

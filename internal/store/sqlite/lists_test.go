package sqlite

import (
	"testing"

	"example.com/petstore/internal/petstore"
)

// TestListsSeeOneState: a pet that changes its status and its quantity while it
// is listed is in the list once.
func TestListsSeeOneState(t *testing.T) {
	t.Parallel()
	const pets = 60
	db := openTest(t, Options{Readers: 1})
	err := db.change(t.Context(), func(c *conn) error {
		if err := c.exec("INSERT INTO categories (workspace, id, name, folded) VALUES (1, 1, 'Dogs', 'dogs')"); err != nil {
			return err
		}
		return c.exec(`WITH RECURSIVE n (id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM n WHERE id < ?)
			INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, folded)
			SELECT 1, id, 'Rex', 1, CASE id % 2 WHEN 0 THEN 'available' ELSE 'pending' END, 1, 0, 0, 'rex' FROM n`, pets)
	})
	must(t, err)
	done := make(chan error, 1)
	go func() {
		var err error
		for n := 0; n < 150 && err == nil; n++ {
			err = db.change(t.Context(), func(c *conn) error {
				return c.exec("UPDATE pets SET status=CASE status WHEN 'available' THEN 'pending' ELSE 'available' END, quantity=9-quantity WHERE id%2=1")
			})
		}
		done <- err
	}()
	page := petstore.Page{Limit: 1000}
	for writing := true; writing && !t.Failed(); {
		select {
		case err := <-done:
			must(t, err)
			writing = false
		default:
		}
		if got, err := db.Pets(t.Context(), 1, petstore.PetQuery{Page: page, Statuses: petstore.Statuses()[:2]}); err != nil || len(got) != pets {
			t.Errorf("Pets of both statuses = %d, %v, want %d", len(got), err, pets)
		}
		if got, err := db.Pets(t.Context(), 1, petstore.PetQuery{Page: page, MaxQuantity: new(int64(10))}); err != nil || len(got) != pets {
			t.Errorf("Pets of at most 10 = %d, %v, want %d", len(got), err, pets)
		}
	}
}

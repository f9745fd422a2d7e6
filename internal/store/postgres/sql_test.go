package postgres_test

import (
	"context"
	"testing"

	"example.com/petstore/internal/store/postgres"
	"github.com/jackc/pgx/v5"
)

// direct returns a connection beside the store's own.
func direct(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	c, err := pgx.Connect(context.Background(), url)
	return closed(tb, c, err)
}

// reading returns a connection that is set up as the store's own for reading.
func reading(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	c, err := postgres.ConnectReading(context.Background(), url)
	return closed(tb, c, err)
}

// closed returns a connection that ends with the test.
func closed(tb testing.TB, c *pgx.Conn, err error) *pgx.Conn {
	tb.Helper()
	must(tb, err)
	tb.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// execute carries out SQL beside the store.
func execute(tb testing.TB, url, sql string, args ...any) {
	tb.Helper()
	if _, err := direct(tb, url).Exec(context.Background(), sql, args...); err != nil {
		tb.Fatal(err)
	}
}

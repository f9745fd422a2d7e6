package node

import (
	"context"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
)

// A Store has the methods of a database that the node and the commands need.
type Store interface {
	petstore.Store
	petstore.Bulk
	access.Store
	petstore.Feed
	webhook.Store
	ratelimit.Store
	usage.Store

	Check(ctx context.Context) ([]string, error)
	CheckFeed(ctx context.Context, shop int64) ([]string, error)
	Err() error              // why writes are not possible now; nil if they are
	Failed() <-chan struct{} // closed when writes will never be possible again; nil if that cannot happen
	Close() error

	Stats() store.Stats
	Size(ctx context.Context) (int64, error) // of the database, in bytes
	// Follow calls changed soon after another process has changed a key, a plan or a
	// ban, if the database sends notifications. It keeps Err current where no writer
	// does. It returns when ctx ends.
	Follow(ctx context.Context, changed func())
}

// OpenStore opens the database of the settings, which also say whether it has events.
func OpenStore(ctx context.Context, c *config.Config, o store.OpenOptions) (Store, error) {
	o.NoEvents = c.EventRetention == 0
	if c.OnPostgres() {
		return postgres.Open(ctx, c.DB, o)
	}
	return sqlite.Open(ctx, c.DB, o)
}

package petstore

import (
	"context"
)

// A Feed keeps the events of all workspaces. All methods may be called concurrently.
//
// Ids become visible in ascending order: a reader who has seen an id has missed no
// smaller one, and none will appear later.
type Feed interface {
	// Events returns a page of a workspace's events, or events_expired if some of
	// those that are asked for are not kept any more, or if the feed ends before After.
	Events(ctx context.Context, workspace int64, q EventQuery) (EventPage, error)

	// Event returns one event, or event_not_found.
	Event(ctx context.Context, workspace, id int64) (Event, error)

	// Written returns a channel that is closed soon after the next event of the
	// workspace is committed, by this process or another one. It may be closed without
	// an event, and it may miss a commit of another process, so the caller also has to
	// look for events every few seconds.
	Written(workspace int64) <-chan struct{}

	// EndFeeds is called before changes are made that write no events. It leaves a gap
	// in the ids of every feed: a reader who asks for the events after an earlier id
	// gets events_expired.
	EndFeeds(ctx context.Context) error

	// ForgetEvents removes the events that were written before the instant, in short
	// transactions, so that no write waits long. Without an instant it calls EndFeeds
	// and removes all events. It returns how many it removed.
	ForgetEvents(ctx context.Context, before Time) (int64, error)
}

// An EventQuery asks for events in ascending order of their ids, unless it says otherwise.
type EventQuery struct {
	After  int64 // only ids greater than this
	Oldest bool  // begin with the oldest that is kept, whatever After says
	Newest bool  // the newest first: those before After, or all if that is 0
	Types  []EventType
	Limit  int // at most so many

	// Order and Pet are ids, of which one may be given with Newest: only the events of that,
	// and for a pet those of its inventory and its orders.
	Order, Pet int64
}

// An EventPage is the result of a query. It may have fewer events than the limit, or none,
// though there are more behind Next; large events make it shorter, to save memory.
type EventPage struct {
	Events []Event
	Next   int64 // all events up to this id were looked at: the After of the next page
	Last   int64 // the latest event's id when the page was read; not of a query for the newest
	More   bool  // there may be more events behind
}

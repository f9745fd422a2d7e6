package petstore

import (
	"context"
)

// A Feed keeps the events of all workspaces. All methods may be called concurrently.
//
// A reader who has seen an id has seen all smaller ones that there are and will be.
type Feed interface {
	// Events returns a page of a workspace's events, or events_expired if some of
	// those that are asked for are not kept any more, or if the feed ends before After.
	Events(ctx context.Context, workspace int64, q EventQuery) (EventPage, error)

	// Event returns one event, or event_not_found.
	Event(ctx context.Context, workspace, id int64) (Event, error)

	// Written returns a channel that is closed soon after an event of the workspace
	// was committed later than the call, by this process or another one, and maybe
	// without one. What another process has committed may stay untold: look for
	// events every few seconds too.
	Written(workspace int64) <-chan struct{}

	// EndFeeds makes every feed go on behind a gap, before changes are made that no
	// event tells of: who asks for what is after an earlier event is answered
	// events_expired.
	EndFeeds(ctx context.Context) error

	// ForgetEvents removes events that were written before the instant, in steps that
	// no write waits for long for. If the instant is none, it calls EndFeeds and removes
	// all. It returns how many it removed.
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

// An EventPage is what a query found. It may have fewer events than there are, and none, as
// long as Next goes on; large events make it shorter, so that it needs little memory.
type EventPage struct {
	Events []Event
	Next   int64 // all events up to this id were looked at: the After of the next page
	Last   int64 // the latest event's id when the page was read; not of a query for the newest
	More   bool  // there may be more events behind
}

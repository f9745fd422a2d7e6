package client

import (
	"context"
	"fmt"
	"iter"
	"strconv"
)

// followWait is how many seconds a request of FollowEvents waits: less than the default HTTP client does.
const followWait = 20

// FollowEvents returns the events that ListEvents answers, and then each that comes as soon as it is there, until ctx ends:
// then the last error is that of ctx. After an error, which comes with a zero event, it ends; go on with the ID of the last
// event as params.After, and none is lost. A request waits 20 seconds for an event unless params.Wait says otherwise, and
// each counts against the rate limit.
func (c *Client) FollowEvents(ctx context.Context, params ListEventsParams, opts ...CallOption) iter.Seq2[Event, error] {
	if params.Limit == 0 {
		params.Limit = largestPage
	}
	if params.Wait == 0 {
		params.Wait = followWait
	}
	return func(yield func(Event, error) bool) {
		for {
			page, err := c.ListEvents(ctx, params, opts...)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range page.Items {
				if !yield(e, nil) {
					return
				}
			}
			if params.After, err = eventID(page.Next); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// eventID reads the After of a page.
func eventID(text string) (*int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("petstore: the answer to listEvents has no link to the next page: %w", err)
	}
	return &id, nil
}

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
)

// followWait is how many seconds a request of FollowEvents waits, unless the caller says otherwise.
const followWait = 20

// FollowEvents returns the events that ListEvents answers, and then each that comes as soon as it is there, until ctx ends:
// then the last error is that of ctx. After an error, which comes with a zero event, it ends; go on with the ID of the last
// event as params.After, and none is lost. After an error with CodeEventsExpired some events are no longer kept, or the server has
// another feed: ask LastEvent, read the lists again, and go on from there. A request waits 20 seconds for an event unless params.Wait
// says otherwise, and each counts against the rate limit.
func (c *Client) FollowEvents(ctx context.Context, params ListEventsParams, opts ...CallOption) iter.Seq2[Event, error] {
	return follow[Event](ctx, c, params, opts)
}

// FollowRawEvents is FollowEvents for a program that passes events on: it returns each as the server sent it.
func (c *Client) FollowRawEvents(ctx context.Context, params ListEventsParams, opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return follow[json.RawMessage](ctx, c, params, opts)
}

func follow[T any](ctx context.Context, c *Client, params ListEventsParams, opts []CallOption) iter.Seq2[T, error] {
	if params.Limit == 0 {
		params.Limit = largestPage
	}
	if params.Wait == 0 {
		params.Wait = followWait
	}
	return func(yield func(T, error) bool) {
		var none T
		for {
			page, err := list[T](ctx, c, request{operation: "listEvents", method: http.MethodGet, path: expand("/events"), query: params.query()}, opts)
			if err != nil {
				yield(none, err)
				return
			}
			for _, e := range page.Items {
				if !yield(e, nil) {
					return
				}
			}
			if params.After, err = eventID(page.Next); err != nil {
				yield(none, err)
				return
			}
		}
	}
}

// LastEvent returns the id of the latest event, 0 if there was none yet. To keep a copy, ask for it before reading the lists,
// and follow from there as params.After.
func (c *Client) LastEvent(ctx context.Context, opts ...CallOption) (int64, error) {
	r := request{operation: "listEvents", method: http.MethodGet, path: expand("/events"), query: ListEventsParams{Limit: 1}.query()}
	_, resp, err := answer[[]Event](ctx, c, r, opts)
	if err != nil {
		return 0, err
	}
	id, err := eventID(place(resp.Header, "last"))
	if err != nil {
		return 0, err
	}
	return *id, nil
}

// eventID reads the After of a page.
func eventID(text string) (*int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("petstore: the answer to listEvents lacks a link: %w", err)
	}
	return &id, nil
}

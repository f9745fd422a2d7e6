package httpapi

import (
	"context"
	"net/http"

	"example.com/petstore/internal/petstore"
)

// A reader decodes the body that a form was made for.
type reader[T any] func(f *form) (T, error)

// readChange reads the condition and the body of a PUT or a PATCH. The body may repeat an id
// that is a number.
func readChange[T any](x *exchange, read reader[T]) (on petstore.Condition, c T, err error) {
	if on, err = conditionOf(x.r.Header); err == nil {
		c, err = read(&form{body: x.body, id: x.param})
	}
	return on, c, err
}

// readOnce reads the body and the Idempotency-Key of a POST. identify is onceOf or
// onceByCaller.
func readOnce[T any](x *exchange, identify func(*exchange) (*petstore.Idempotency, error), read reader[T]) (once *petstore.Idempotency, t T, err error) {
	if once, err = identify(x); err != nil {
		return once, t, err
	}
	if t, err = read(&form{body: x.body}); err == nil && once != nil {
		once.Fingerprint = fingerprint(x.body)
	}
	return once, t, err
}

// These functions return the handlers of the operations that most resources have, from
// a method of the Service and the reader of the body.

func create[T any](read reader[T], do func(ctx context.Context, workspace int64, n T, once *petstore.Idempotency) (petstore.Created, error)) handler {
	return func(x *exchange) error {
		once, n, err := readOnce(x, onceOf, read)
		if err != nil {
			return err
		}
		c, err := do(x.ctx, x.shop(), n, once)
		if err != nil {
			return err
		}
		x.set("Location", x.env.baseURL+x.path.pattern+"/"+decimal(c.ID))
		return x.sendOnce(http.StatusCreated, petstore.TagOf(c.Body), c.Body, c.Replayed)
	}
}

func get[R any](do func(ctx context.Context, workspace, id int64) (R, error)) handler {
	return func(x *exchange) error {
		return x.sendResource(do(x.ctx, x.shop(), x.param))
	}
}

// list returns the handler of a list. read reads the filters, and the page last.
// positionOf returns the position after an entry.
func list[Q, R any](read func(l *listRequest) (Q, error), do func(x *exchange, q Q) ([]R, error), positionOf func(R) position) handler {
	return func(x *exchange) error {
		l, err := newListRequest(x)
		if err != nil {
			return err
		}
		q, err := read(l)
		if err != nil {
			return err
		}
		entries, err := do(x, q)
		if err != nil {
			return err
		}
		return sendList(l, entries, positionOf)
	}
}

// ofShop adapts a method that lists what the caller's shop has.
func ofShop[Q, R any](do func(ctx context.Context, shop int64, q Q) ([]R, error)) func(*exchange, Q) ([]R, error) {
	return func(x *exchange, q Q) ([]R, error) { return do(x.ctx, x.shop(), q) }
}

// change returns the handler of a PUT or a PATCH.
func change[T any, R any](read reader[T], do func(ctx context.Context, workspace, id int64, c T, on petstore.Condition) (R, error)) handler {
	return func(x *exchange) error {
		on, c, err := readChange(x, read)
		if err != nil {
			return err
		}
		return x.sendChanged(do(x.ctx, x.shop(), x.param, c, on))
	}
}

func remove(do func(ctx context.Context, workspace, id int64, on petstore.Condition) error) handler {
	return func(x *exchange) error {
		on, err := conditionOf(x.r.Header)
		if err != nil {
			return err
		}
		return x.sendDone(do(x.ctx, x.shop(), x.param, on))
	}
}

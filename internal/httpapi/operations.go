package httpapi

import (
	"context"
	"net/http"

	"example.com/petstore/internal/petstore"
)

// A reader decodes the body that a form was made for.
type reader[T any] func(f *form) (T, error)

// These functions return handlers that read the input of a request and call do with it.

// withBody is for input that is only a body.
func withBody[T any](read reader[T], do func(x *exchange, t T) error) handler {
	return func(x *exchange) error {
		t, err := read(&form{body: x.body})
		if err != nil {
			return err
		}
		return do(x, t)
	}
}

// withNew is for a POST that may have an Idempotency-Key.
func withNew[T any](read reader[T], do func(x *exchange, t T, once *petstore.Idempotency) error) handler {
	return func(x *exchange) error {
		once, err := onceOf(x)
		if err != nil {
			return err
		}
		t, err := read(&form{body: x.body})
		if err != nil {
			return err
		}
		if once != nil {
			once.Fingerprint = fingerprint(x.body)
		}
		return do(x, t, once)
	}
}

// withChange is for a PUT or a PATCH. The body may repeat an id that is a number.
func withChange[T any](read reader[T], do func(x *exchange, t T, on petstore.Condition) error) handler {
	return withCondition(func(x *exchange, on petstore.Condition) error {
		t, err := read(&form{body: x.body, id: x.param})
		if err != nil {
			return err
		}
		return do(x, t, on)
	})
}

// withCondition is for a DELETE.
func withCondition(do func(x *exchange, on petstore.Condition) error) handler {
	return func(x *exchange) error {
		on, err := conditionOf(x.r.Header)
		if err != nil {
			return err
		}
		return do(x, on)
	}
}

// These functions return the handlers of the operations that most resources have, from
// a method of the Service and the reader of the body.

func create[T any](read reader[T], do func(ctx context.Context, workspace int64, n T, once *petstore.Idempotency) (petstore.Created, error)) handler {
	return withNew(read, func(x *exchange, n T, once *petstore.Idempotency) error {
		c, err := do(x.ctx, x.shop(), n, once)
		if err != nil {
			return err
		}
		x.set("Location", x.env.baseURL+x.path.pattern+"/"+decimal(c.ID))
		return x.sendOnce(http.StatusCreated, petstore.TagOf(c.Body), c.Body, c.Replayed)
	})
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
	return withChange(read, func(x *exchange, c T, on petstore.Condition) error {
		return x.sendChanged(do(x.ctx, x.shop(), x.param, c, on))
	})
}

func remove(do func(ctx context.Context, workspace, id int64, on petstore.Condition) error) handler {
	return withCondition(func(x *exchange, on petstore.Condition) error {
		return x.sendDone(do(x.ctx, x.shop(), x.param, on))
	})
}

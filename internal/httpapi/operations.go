package httpapi

import (
	"context"
	"net/http"

	"example.com/petstore/internal/petstore"
)

// A reader decodes a body. id is that of the path, which the body may repeat; 0
// if the path has none.
type reader[T any] func(body []byte, id int64) (T, error)

// The operations that most resources have, each made of the Service's method and
// the reader of its body.

func create[T any](read reader[T], do func(ctx context.Context, workspace int64, n T, once *petstore.Idempotency) (petstore.Created, error)) handler {
	return func(x *exchange) error {
		once, err := onceOf(x)
		if err != nil {
			return err
		}
		n, err := read(x.body, 0)
		if err != nil {
			return err
		}
		c, err := do(x.ctx, x.workspace(), n, once)
		if err != nil {
			return err
		}
		return x.sendCreated(c)
	}
}

func get[R resource](do func(ctx context.Context, workspace, id int64) (R, error)) handler {
	return func(x *exchange) error {
		r, err := do(x.ctx, x.workspace(), x.param)
		if err != nil {
			return err
		}
		return sendResource(x, r)
	}
}

// list is for a resource whose rows have their places by placeOf. read reads the
// filters, and the page at last.
func list[Q any, R resource](read func(l *listing) (Q, error), do func(ctx context.Context, workspace int64, q Q) ([]R, error), placeOf func(R) place) handler {
	return func(x *exchange) error {
		l, err := newListing(x)
		if err != nil {
			return err
		}
		q, err := read(l)
		if err != nil {
			return err
		}
		rows, err := do(x.ctx, x.workspace(), q)
		if err != nil {
			return err
		}
		return sendList(l, rows, placeOf)
	}
}

// change is for PUT and for PATCH.
func change[T any, R resource](read reader[T], do func(ctx context.Context, workspace, id int64, c T, on petstore.Condition) (R, error)) handler {
	return func(x *exchange) error {
		on, err := conditionOf(x.r.Header)
		if err != nil {
			return err
		}
		c, err := read(x.body, x.param)
		if err != nil {
			return err
		}
		r, err := do(x.ctx, x.workspace(), x.param, c, on)
		if err != nil {
			return err
		}
		return sendChanged(x, r)
	}
}

func remove(do func(ctx context.Context, workspace, id int64, on petstore.Condition) error) handler {
	return func(x *exchange) error {
		on, err := conditionOf(x.r.Header)
		if err != nil {
			return err
		}
		if err := do(x.ctx, x.workspace(), x.param, on); err != nil {
			return err
		}
		x.sendEmpty(http.StatusNoContent)
		return nil
	}
}

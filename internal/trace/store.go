package trace

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	api "go.opentelemetry.io/otel/trace"

	"example.com/petstore/internal/petstore"
)

// Store returns next with a span around each call that belongs to a request.
func (t *Tracer) Store(next petstore.Store) petstore.Store { return &store{next, t.tracer} }

// A store is a petstore.Store that records spans of its calls. Calls that belong to no
// request, such as Forget, go directly to the embedded store.
type store struct {
	petstore.Store
	tracer api.Tracer
}

// spanned calls f in a span. The span has an error only if the store could not answer,
// not for errors such as pet_not_found.
func spanned[T any](ctx context.Context, s *store, name string, workspace int64, f func(context.Context) (T, error)) (T, error) {
	if !api.SpanContextFromContext(ctx).IsValid() {
		return f(ctx)
	}
	ctx, span := s.tracer.Start(ctx, "store "+name, api.WithAttributes(attribute.Int64("petstore.workspace", workspace)))
	defer span.End()
	v, err := f(ctx)
	if err == nil {
		return v, nil
	}
	if known, ok := errors.AsType[*petstore.Error](err); ok {
		span.SetAttributes(attribute.String("error.type", string(known.Code)))
		if known.Code != petstore.CodeServiceUnavailable {
			return v, err
		}
	}
	span.SetStatus(codes.Error, err.Error())
	return v, err
}

func (s *store) Pet(ctx context.Context, workspace, id int64) (petstore.Pet, error) {
	return spanned(ctx, s, "Pet", workspace, func(ctx context.Context) (petstore.Pet, error) { return s.Store.Pet(ctx, workspace, id) })
}

func (s *store) Category(ctx context.Context, workspace, id int64) (petstore.Category, error) {
	return spanned(ctx, s, "Category", workspace, func(ctx context.Context) (petstore.Category, error) { return s.Store.Category(ctx, workspace, id) })
}

func (s *store) Order(ctx context.Context, workspace, id int64) (petstore.Order, error) {
	return spanned(ctx, s, "Order", workspace, func(ctx context.Context) (petstore.Order, error) { return s.Store.Order(ctx, workspace, id) })
}

func (s *store) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	return spanned(ctx, s, "InventoryItem", workspace, func(ctx context.Context) (petstore.InventoryItem, error) {
		return s.Store.InventoryItem(ctx, workspace, petID)
	})
}

func (s *store) Pets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.Pet, error) {
	return spanned(ctx, s, "Pets", workspace, func(ctx context.Context) ([]petstore.Pet, error) { return s.Store.Pets(ctx, workspace, q) })
}

func (s *store) Categories(ctx context.Context, workspace int64, q petstore.CategoryQuery) ([]petstore.Category, error) {
	return spanned(ctx, s, "Categories", workspace, func(ctx context.Context) ([]petstore.Category, error) { return s.Store.Categories(ctx, workspace, q) })
}

func (s *store) Orders(ctx context.Context, workspace int64, q petstore.OrderQuery) ([]petstore.Order, error) {
	return spanned(ctx, s, "Orders", workspace, func(ctx context.Context) ([]petstore.Order, error) { return s.Store.Orders(ctx, workspace, q) })
}

func (s *store) Inventory(ctx context.Context, workspace int64, q petstore.InventoryQuery) ([]petstore.InventoryItem, error) {
	return spanned(ctx, s, "Inventory", workspace, func(ctx context.Context) ([]petstore.InventoryItem, error) {
		return s.Store.Inventory(ctx, workspace, q)
	})
}

func (s *store) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	return spanned(ctx, s, "Do", c.Workspace, func(ctx context.Context) (*petstore.Receipt, error) { return s.Store.Do(ctx, c) })
}

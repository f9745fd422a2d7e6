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
func spanned[A, T any](ctx context.Context, s *store, name string, workspace int64, a A, f func(context.Context, int64, A) (T, error)) (T, error) {
	if !api.SpanContextFromContext(ctx).IsValid() {
		return f(ctx, workspace, a)
	}
	ctx, span := s.tracer.Start(ctx, "store "+name, api.WithAttributes(attribute.Int64("petstore.workspace", workspace)))
	defer span.End()
	v, err := f(ctx, workspace, a)
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
	return spanned(ctx, s, "Pet", workspace, id, s.Store.Pet)
}

func (s *store) Category(ctx context.Context, workspace, id int64) (petstore.Category, error) {
	return spanned(ctx, s, "Category", workspace, id, s.Store.Category)
}

func (s *store) Order(ctx context.Context, workspace, id int64) (petstore.Order, error) {
	return spanned(ctx, s, "Order", workspace, id, s.Store.Order)
}

func (s *store) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	return spanned(ctx, s, "InventoryItem", workspace, petID, s.Store.InventoryItem)
}

func (s *store) Pets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.Pet, error) {
	return spanned(ctx, s, "Pets", workspace, q, s.Store.Pets)
}

func (s *store) Categories(ctx context.Context, workspace int64, q petstore.CategoryQuery) ([]petstore.Category, error) {
	return spanned(ctx, s, "Categories", workspace, q, s.Store.Categories)
}

func (s *store) Orders(ctx context.Context, workspace int64, q petstore.OrderQuery) ([]petstore.Order, error) {
	return spanned(ctx, s, "Orders", workspace, q, s.Store.Orders)
}

func (s *store) Inventory(ctx context.Context, workspace int64, q petstore.InventoryQuery) ([]petstore.InventoryItem, error) {
	return spanned(ctx, s, "Inventory", workspace, q, s.Store.Inventory)
}

func (s *store) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	return spanned(ctx, s, "Do", c.Workspace, c, func(ctx context.Context, _ int64, c *petstore.Change) (*petstore.Receipt, error) {
		return s.Store.Do(ctx, c)
	})
}

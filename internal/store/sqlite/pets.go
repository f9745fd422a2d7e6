package sqlite

import (
	"context"
	"slices"

	"example.com/petstore/internal/petstore"
)

// Pet implements [petstore.Store].
func (db *DB) Pet(ctx context.Context, workspace, id int64) (petstore.Pet, error) {
	r, err := db.row(ctx, workspace, id)
	if err != nil {
		return petstore.Pet{}, err
	}
	return r.pet(id), nil
}

// InventoryItem implements [petstore.Store].
func (db *DB) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	r, err := db.row(ctx, workspace, petID)
	if err != nil {
		return petstore.InventoryItem{}, err
	}
	return petstore.InventoryItem{PetID: petID, Quantity: r.quantity, Status: statusAt[r.status]}, nil
}

// row returns what reads need of a pet.
func (db *DB) row(ctx context.Context, workspace, id int64) (row, error) {
	k := cacheKey{workspace, id}
	held, ok, version := db.cache.row(k)
	if ok && db.broken() == nil {
		return held, nil
	}
	p, err := db.StockedPet(ctx, workspace, id)
	if err != nil {
		return row{}, err
	}
	r := row{name: p.Name, category: p.CategoryID, status: placeOf(p.Status), quantity: p.Quantity}
	db.cache.keep(k, r, version)
	return r, nil
}

// Pets implements [petstore.Store].
func (db *DB) Pets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.Pet, error) {
	if len(q.IDs) == 1 && q.Limit > 0 {
		return db.onePet(ctx, workspace, &q)
	}
	k, holds := pageKeyOf(workspace, &q)
	if !holds {
		return db.Store.Pets(ctx, workspace, q)
	}
	held, ok, version := db.cache.page(k)
	if ok && db.broken() == nil {
		return held, nil
	}
	pets, err := db.Store.Pets(ctx, workspace, q)
	if err == nil {
		db.cache.keepPage(k, slices.Clip(pets), version)
	}
	return pets, err
}

// onePet is Pets for one id.
func (db *DB) onePet(ctx context.Context, workspace int64, q *petstore.PetQuery) ([]petstore.Pet, error) {
	p, err := db.Pet(ctx, workspace, q.IDs[0])
	switch {
	case petstore.CodeOf(err) == petstore.CodePetNotFound:
		return []petstore.Pet{}, nil
	case err != nil:
		return nil, err
	case !q.Has(p.ID) || !q.Selects(p):
		return []petstore.Pet{}, nil
	}
	return []petstore.Pet{p}, nil
}

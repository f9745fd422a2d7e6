package main

import (
	"math"
	"path/filepath"
	"testing"
)

// The big shop is filled by queries of its own: its ledger must add up as that
// of a shop that lived.
func TestGrowShopLeavesASoundDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "grown.db")
	if _, err := growShop(t.Context(), path, 250); err != nil {
		t.Fatal(err)
	}
	if ok, err := sound(t.Context(), path); !ok || err != nil {
		t.Errorf("sound() = %v, %v, want true", ok, err)
	}
	order, ledger, err := perOrder(path, 250*ordersPerPet)
	if err != nil || ledger <= 0 || order <= ledger || math.IsInf(order, 0) {
		t.Errorf("perOrder() = %v, %v, %v, want more for the order than for its entry in the ledger", order, ledger, err)
	}
}

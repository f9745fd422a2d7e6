package sqlite

import (
	"testing"
	"time"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
	"example.com/petstore/internal/usage"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	storetest.RunUsage(t, func(t *testing.T) usage.Store { return openTest(t, Options{}) })
}

// TestUsagePlans: what is read and what is forgotten is found by key, and never sorted.
func TestUsagePlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	s := store.New(explained{engine{db}, t, nil}, store.Options{Now: time.Now})
	if _, err := s.Usage(t.Context(), 1, usage.Minute, 0, 60); err != nil {
		t.Error(err)
	}
	if _, err := s.ForgetUsage(t.Context(), usage.Minute, 60); err != nil {
		t.Error(err)
	}
}

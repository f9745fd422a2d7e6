package clients

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/client"
)

const perMinute = 60 // of the Free plan

// A library makes one request more than the minute allows and returns what it printed.
type library func(ctx context.Context, url, key string) (string, error)

// TestLimitedClientsRecover has each library meet the limit, and asks the server afterwards what it saw. They wait at the
// same time, in goroutines: there may be fewer processors than libraries.
func TestLimitedClientsRecover(t *testing.T) {
	t.Parallel()
	libraries := map[string]library{
		"got":              script(typeScript(t), "got"),
		"ky":               script(typeScript(t), "ky"),
		"axios-retry":      script(typeScript(t), "axios-retry"),
		"go-retryablehttp": retryable(goPrograms(t)),
		"petstore":         ours,
	}
	var names []string
	for name := range libraries {
		names = append(names, name)
	}
	s := serve(t, "free", names...)
	var running sync.WaitGroup
	for name, requests := range libraries {
		running.Go(func() {
			out, err := requests(t.Context(), s.URL, s.keys[name])
			if got := strings.TrimSpace(out); err != nil || got != "refused 1" {
				t.Errorf("%s printed %q (%v), want that one request was refused", name, got, err)
			}
		})
	}
	running.Wait()
	must(t, s.Stop())
	for _, name := range names {
		if got, want := s.usage(t, name), (usage{UsedToday: perMinute + 1, RefusedToday: 1}); got != want {
			t.Errorf("the server counted %+v by %s, want %+v", got, name, want)
		}
	}
}

func script(dir, name string) library {
	return func(ctx context.Context, url, key string) (string, error) {
		return output(ctx, ".", "node", filepath.Join(dir, "limited.js"), name, url, key, strconv.Itoa(perMinute+1))
	}
}

func retryable(dir string) library {
	return func(ctx context.Context, url, key string) (string, error) {
		return output(ctx, ".", filepath.Join(dir, "limited"), url, key, strconv.Itoa(perMinute+1))
	}
}

// ours is the client of this module.
func ours(ctx context.Context, url, key string) (string, error) {
	refused := 0
	c, err := client.New(url, key, client.OnRetry(func(client.Attempt) { refused++ }))
	if err != nil {
		return "", err
	}
	for range perMinute + 1 {
		if _, err := c.ListPets(ctx, client.ListPetsParams{Limit: 1}); err != nil {
			return "", err
		}
	}
	return "refused " + strconv.Itoa(refused), nil
}

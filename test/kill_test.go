package test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestCountsOutliveKill kills a server while it counts. The next one may have
// forgotten what was admitted in the last second, and nothing before that.
func TestCountsOutliveKill(t *testing.T) {
	t.Parallel()
	binary := servertest.Binary(filepath.Join(bin, "petstore"))
	dir := t.TempDir()
	if err := binary.NewWorkspace(dir, "acme"); err != nil {
		t.Fatal(err)
	}
	key, err := binary.NewKey(dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	var before int64
	for range 3 {
		first, err := binary.Serve(servertest.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		admitted := spend(t, first.URL, key.Key, 2500*time.Millisecond)
		killed := time.Now()
		first.Kill()
		second, err := binary.Serve(servertest.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		kept, _ := slices.BinarySearchFunc(admitted, killed.Add(-time.Second), time.Time.Compare)
		used := usedToday(t, second.URL, key.Key)
		if least, most := before+int64(kept), before+int64(len(admitted)); used < least || used > most {
			t.Errorf("after the kill %d requests are counted, want %d (all but the last second's) to %d", used, least, most)
		}
		if before = used; before == 0 {
			t.Error("nothing was counted")
		}
		if err := second.Stop(); err != nil {
			t.Fatal(err)
		}
		third, err := binary.Serve(servertest.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if again := usedToday(t, third.URL, key.Key); again != used {
			t.Errorf("after an orderly stop %d requests are counted, want all %d", again, used)
		}
		third.Kill()
	}
}

// spend makes requests, at most 8 at once, until the time is over, and returns
// when each one was answered, in order.
func spend(t *testing.T, url, key string, d time.Duration) []time.Time {
	t.Helper()
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		all []time.Time
	)
	for end := time.Now().Add(d); len(all) == 0 || time.Now().Before(end); {
		for range 8 {
			wg.Go(func() {
				if resp, body, err := asking(url+"/pets", key).do(); err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("GET /pets = %s, %v", body, err)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, time.Now())
			})
		}
		wg.Wait()
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// usedToday returns what the account says is used of the day.
func usedToday(t *testing.T, url, key string) int64 {
	t.Helper()
	resp, body, err := asking(url+"/account", key).do()
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET /account = %s, %v", body, err)
	}
	var account struct {
		Limits struct{ Day struct{ Used int64 } }
	}
	if err := json.Unmarshal([]byte(body), &account); err != nil {
		t.Fatalf("GET /account = %s, %v", body, err)
	}
	return account.Limits.Day.Used
}

func asking(url, key string) call {
	return call{method: http.MethodGet, url: url, header: [][2]string{{"Authorization", "Bearer " + key}}}
}

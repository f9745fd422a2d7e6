package nodes

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"example.com/petstore/test/servertest"
)

// resets: whoever has reset a sandbox at one node reads the new state at every other at once, and writes
// to it, many times over; all nodes together give an address no more sandboxes than one.
func resets(d *deployment) {
	t := d.t
	var mu sync.Mutex
	var keys []string
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			a := ask(t, servertest.Request{Method: "POST", URL: d.nodes[i%3].URL + "/sandboxes"})
			var made struct{ Key string }
			if a.Status == 201 {
				_ = json.Unmarshal([]byte(a.Body), &made)
			}
			mu.Lock()
			defer mu.Unlock()
			if made.Key != "" {
				keys = append(keys, made.Key)
			}
		})
	}
	all.Wait()
	if len(keys) != 4 {
		t.Fatalf("three nodes made %d sandboxes, want 4", len(keys))
	}
	for _, key := range keys[:2] {
		all.Go(func() {
			for i := range 15 {
				made := ask(t, servertest.Request{Method: "POST", URL: d.nodes[i%3].URL + "/pets", Key: key, Body: fmt.Sprintf(`{"name":"Rex %d","categoryId":1}`, i)})
				if made.Status != 201 || !strings.Contains(made.Body, `"id":44,`) {
					t.Errorf("a pet at node %d is %d %s, want the id 44", i%3, made.Status, made.Body)
				}
				if a := ask(t, servertest.Request{Method: "POST", URL: d.nodes[(i+1)%3].URL + "/account/reset", Key: key}); a.Status != 204 {
					t.Errorf("a reset = %d %s", a.Status, a.Body)
				}
				for n := range d.nodes {
					if a := get(t, d.nodes[n].URL+"/pets?sort=-id&limit=1", key); !strings.Contains(a.Body, `"id":43,`) {
						t.Errorf("after a reset, node %d has the newest pet %s, want 43", n, a.Body)
					}
				}
			}
		})
	}
	all.Wait()
	servertest.Eventually(t, "what the resets left is removed, and the ledger is in order", func() bool {
		_, err := petstore.Run(d.dir, "doctor", "--db="+d.db)
		return err == nil
	})
}

package nodes

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"example.com/petstore/test/servertest"
)

// resets: whoever has reset a sandbox at one node reads the new state at every other at once, and writes
// to it, many times over. How many sandboxes an address gets is storetest's to test.
func resets(d *deployment) {
	t := d.t
	var all sync.WaitGroup
	for i := range 2 {
		var made struct{ Key string }
		a := ask(t, servertest.Request{Method: "POST", URL: d.nodes[i].URL + "/sandboxes"})
		must(t, json.Unmarshal([]byte(a.Body), &made))
		all.Go(func() {
			for i := range 15 {
				pet := ask(t, servertest.Request{Method: "POST", URL: d.nodes[i%3].URL + "/pets", Key: made.Key, Body: fmt.Sprintf(`{"name":"Rex %d","categoryId":1}`, i)})
				if pet.Status != 201 || !strings.Contains(pet.Body, `"id":44,`) {
					t.Errorf("a pet at node %d is %d %s, want the id 44", i%3, pet.Status, pet.Body)
				}
				if a := ask(t, servertest.Request{Method: "POST", URL: d.nodes[(i+1)%3].URL + "/account/reset", Key: made.Key}); a.Status != 204 {
					t.Errorf("a reset = %d %s", a.Status, a.Body)
				}
				for n := range d.nodes {
					if a := get(t, d.nodes[n].URL+"/pets?sort=-id&limit=1", made.Key); !strings.Contains(a.Body, `"id":43,`) {
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

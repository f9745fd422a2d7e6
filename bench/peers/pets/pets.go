// Package pets has the pets in memory that each of the peers serves.
package pets

import "fmt"

// A Pet is one of them.
type Pet struct {
	ID, CategoryID int64
	Name, Status   string
}

var all = make([]Pet, 1000)

func init() {
	for i := range all {
		id := int64(i) + 1
		all[i] = Pet{ID: id, Name: fmt.Sprintf("Beagle %07d", id), CategoryID: 1 + id%10, Status: "available"}
	}
}

// Find returns the pet with the id, and false if there is none.
func Find(id int64) (Pet, bool) {
	if id < 1 || id > int64(len(all)) {
		return Pet{}, false
	}
	return all[id-1], true
}

// First returns the first n pets.
func First(n int) []Pet { return all[:min(max(n, 0), len(all))] }

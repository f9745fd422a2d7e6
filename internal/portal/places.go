package portal

import "strings"

// A place is a page of the console on which people do what an operation does.
type place struct {
	URL string
	ID  string // the parameter whose value follows the URL, "" if none does
}

// placeOf returns the place of an operation, or nil if there is none.
func placeOf(o *operation) *place {
	page, known := map[string]string{
		"animals": "/console/pets", "categories": "/console/categories", "orders": "/console/orders", "inventory": "/console/stock",
		"keys": "/console/keys", "account": "/console",
	}[o.Tags[0]]
	switch {
	case !known:
		return nil
	case o.method == "POST" && !strings.Contains(o.path, "{"):
		return &place{URL: page + "/new"}
	case o.Tags[0] == "keys":
		return &place{URL: page}
	}
	for _, id := range []string{"petId", "categoryId", "orderId"} {
		if strings.HasSuffix(o.path, "{"+id+"}") {
			return &place{URL: page, ID: id}
		}
	}
	return &place{URL: page}
}

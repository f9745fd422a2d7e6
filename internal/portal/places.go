package portal

import (
	"slices"
	"strings"

	"example.com/petstore/internal/portal/console"
)

// A place is a page of the console on which people do what an operation does.
type place struct {
	URL string
	ID  string // the parameter whose value follows the URL, "" if none does
}

// placeOf returns the place of an operation, or nil if there is none.
func placeOf(o *operation) *place {
	all := console.Subjects()
	i := slices.IndexFunc(all, func(s console.Subject) bool { return s.Tag == o.Tags[0] })
	switch {
	case i < 0:
		return nil
	case o.OperationID == all[i].Create:
		return &place{URL: all[i].Page + "/new"}
	}
	for _, id := range []string{"petId", "categoryId", "orderId"} {
		if strings.HasSuffix(o.path, "{"+id+"}") {
			return &place{URL: all[i].Page, ID: id}
		}
	}
	return &place{URL: all[i].Page}
}

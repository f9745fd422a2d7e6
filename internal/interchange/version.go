package interchange

import (
	"encoding/base64"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
)

// A version says what a row of CSV contained when it was exported, so that a merge can tell which cells were changed
// in the file since, and which in the shop. It is zero for a row without one.
type version struct {
	stock, categoryID, name, category, status string // category is the category's name
}

// textOfVersion returns the version of a pet's row as the row has it. No name has a tab, and the
// pet's id tells versions of other rows apart.
func textOfVersion(p *petstore.StockedPet, category string) string {
	parts := []string{numeral(p.ID), numeral(p.Quantity), numeral(p.CategoryID), p.Name, category, string(p.Status)}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\t")))
}

// parseVersion parses the version of a pet's row.
func parseVersion(cell string, id int64) (version, bool) {
	text, err := base64.RawURLEncoding.DecodeString(cell)
	parts := strings.Split(string(text), "\t")
	if err != nil || len(parts) != 6 || parts[0] != numeral(id) || !petstore.Status(parts[5]).Valid() {
		return version{}, false
	}
	return version{parts[1], parts[2], parts[3], parts[4], parts[5]}, true
}

func numeral(n int64) string { return strconv.FormatInt(n, 10) }

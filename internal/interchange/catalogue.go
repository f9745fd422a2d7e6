package interchange

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
)

// A catalogue has the categories of a workspace and those that a CSV adds.
type catalogue struct {
	most  int      // how many there may be; 0 means no limit
	names []string // of those that were there before
	byID  map[int64]*petstore.Category
	byKey map[string][]*petstore.Category // by matchKey
	added []Entry                         // the new ones, which have no id yet
}

// readCatalogue reads the categories of a workspace.
func readCatalogue(ctx context.Context, from petstore.Bulk, workspace int64, most int) (*catalogue, error) {
	c := &catalogue{most: most, byID: map[int64]*petstore.Category{}, byKey: map[string][]*petstore.Category{}}
	page := petstore.Page{Limit: petstore.MaxPage}
	for {
		some, err := from.Categories(ctx, workspace, petstore.CategoryQuery{Page: page})
		if err != nil {
			return nil, err
		}
		for _, one := range some {
			c.names = append(c.names, one.Name)
			c.byID[one.ID] = &one
			c.byKey[matchKey(one.Name)] = append(c.byKey[matchKey(one.Name)], &one)
		}
		if c.most > 0 && len(c.byID) > c.most {
			return nil, finalf(1, "the workspace has more than %d categories; use the command petstore import", c.most)
		}
		if len(some) < page.Limit {
			return c, nil
		}
		page.After = some[len(some)-1].ID
	}
}

// matchKey returns the key by which names are matched without regard to case and to spaces around them.
func matchKey(name string) string { return petstore.Fold(strings.TrimSpace(name)) }

// confirmAdded makes the new categories, which have ids now, ordinary ones.
func (c *catalogue) confirmAdded() {
	for _, e := range c.added {
		c.byID[e.Category.ID] = e.Category
	}
	c.added = nil
}

// nameOf returns the name of a category for a message.
func (c *catalogue) nameOf(id int64) string {
	if one := c.byID[id]; one != nil {
		return strconv.Quote(one.Name)
	}
	return fmt.Sprintf("the category %d", id)
}

// resolve returns the category that a cell names: the one with exactly that name, or the one whose name has the same
// matchKey, or a new one.
func (c *catalogue) resolve(cell string, line int) (*petstore.Category, error) {
	one := &petstore.Category{Name: strings.Clone(cell)}
	check := petstore.Unit{Category: one}
	if _, err := check.Check(petstore.Time{}); err != nil {
		return nil, faultf(line, "category: %s", asFault(line, err).Reason)
	}
	key := matchKey(one.Name)
	all := c.byKey[key]
	exact := func(other *petstore.Category) bool { return other.Name == one.Name }
	switch at := slices.IndexFunc(all, exact); {
	case len(all) == 0:
		if c.most > 0 && len(c.byKey) >= c.most {
			return nil, finalf(line, "with this line there are more than %d categories", c.most)
		}
		c.byKey[key] = append(c.byKey[key], one)
		c.added = append(c.added, Entry{Line: line, Unit: petstore.Unit{Category: one}})
	case len(all) == 1:
		one = all[0]
	case at >= 0 && !slices.ContainsFunc(all[at+1:], exact):
		one = all[at]
	default:
		return nil, faultf(line, "category: %s may be each of several; give them names that can be told apart: %s", quoted(cell), inWords(all))
	}
	return one, nil
}

// inWords lists the ids and the names of categories; only the first ones if there are many.
func inWords(all []*petstore.Category) string {
	const most = 5
	words := make([]string, min(len(all), most))
	for i := range words {
		words[i] = fmt.Sprintf("%d (%s)", all[i].ID, quoted(all[i].Name))
	}
	return strings.Join(words, ", ")
}

// similarTo returns the name of an older category that a new name may be a misspelling of, or "". At most two letters
// differ, and fewer than half of them. keys are the keys of c.names.
func (c *catalogue) similarTo(added string, keys [][]rune) (similar string) {
	name := []rune(matchKey(added))
	least := min(3, (len(name)+1)/2)
	for i, key := range keys {
		if d := distance(name, key, least); d < least {
			least, similar = d, c.names[i]
		}
	}
	return similar
}

// distance returns the Levenshtein distance of two texts: how many letters have to be changed, added or left out to turn
// a into b. If that is most or more, it may return any number from most on. So it computes only those cells of the table
// that are at most so far from the diagonal; the others are at least most anyway.
func distance(a, b []rune, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		first := max(0, i-most)
		before := row[first]
		row[first] = i + 1
		for j := first; j < min(len(b), i+most+1); j++ {
			changed := before
			if a[i] != b[j] {
				changed++
			}
			before = row[j+1]
			row[j+1] = min(changed, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

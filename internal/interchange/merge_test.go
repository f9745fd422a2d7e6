package interchange_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
)

// A keeper is a store of either engine.
type keeper interface {
	petstore.Store
	petstore.Bulk
	access.Store
	Check(ctx context.Context) ([]string, error)
}

// engines calls f with a store of each engine.
func engines(t *testing.T, f func(t *testing.T, db keeper)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, openStore(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := shared.Server(t)
		name, err := server.Create(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		db, err := postgres.Open(t.Context(), server.URL(name), postgres.Options{Now: func() time.Time { return noon }, Readers: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		f(t, db)
	})
}

// A day is what the shop does between an export and the import of the edited file.
type day func(ctx context.Context, shop *petstore.Service, workspace int64) error

func patched(p petstore.PetPatch) day {
	return func(ctx context.Context, shop *petstore.Service, workspace int64) error {
		_, err := shop.UpdatePet(ctx, workspace, 1, p, petstore.Condition{})
		return err
	}
}

func stocked(quantity int64) day {
	return func(ctx context.Context, shop *petstore.Service, workspace int64) error {
		_, err := shop.UpdateInventory(ctx, workspace, 1, quantity, petstore.Condition{})
		return err
	}
}

func ordered(ctx context.Context, shop *petstore.Service, workspace int64) error {
	_, err := shop.CreateOrder(ctx, workspace, petstore.NewOrder{PetID: 1, Quantity: 1}, nil)
	return err
}

func named(name string) day { return patched(petstore.PetPatch{Name: petstore.Some(name)}) }

func into(category int64) day { return patched(petstore.PetPatch{CategoryID: petstore.Some(category)}) }

var pending = patched(petstore.PetPatch{Status: petstore.Some(petstore.Pending)})

func renamed(ctx context.Context, shop *petstore.Service, workspace int64) error {
	_, err := shop.UpdateCategory(ctx, workspace, 1, petstore.CategoryPatch{Name: petstore.Some("Hounds")}, petstore.Condition{})
	return err
}

func doubled(ctx context.Context, shop *petstore.Service, workspace int64) error {
	_, err := shop.CreateCategory(ctx, workspace, petstore.NewCategory{Name: "dogs"}, nil)
	return err
}

func gone(ctx context.Context, shop *petstore.Service, workspace int64) error {
	return shop.DeletePet(ctx, workspace, 1, petstore.Condition{})
}

// merges are what becomes of the pet 1 of a file with the pets Rex, of Dogs and with a stock of 3, and Tom, of Cats.
var merges = map[string]struct {
	before, meanwhile day            // of the export, and since it
	edits             map[int]string // of the file, by the column
	want              string         // the row, or the fault
}{
	"nothing":                        {nil, nil, nil, "Rex,Dogs,available,3"},
	"the file alone":                 {nil, nil, map[int]string{1: "Max", 2: "Cats", 3: "PENDING", 4: "5"}, "Max,Cats,pending,5"},
	"the shop's name":                {nil, named("Tim"), nil, "Tim,Dogs,available,3"},
	"the shop's category":            {nil, into(2), nil, "Rex,Cats,available,3"},
	"the shop's status":              {nil, pending, nil, "Rex,Dogs,pending,3"},
	"the shop's stock":               {nil, ordered, nil, "Rex,Dogs,available,2"},
	"other cells":                    {nil, ordered, map[int]string{1: "Max", 2: "Cats", 3: "pending"}, "Max,Cats,pending,2"},
	"the stock beside a name":        {nil, named("Tim"), map[int]string{4: "5"}, "Tim,Dogs,available,5"},
	"the same name":                  {nil, named("Max"), map[int]string{1: "Max"}, "Max,Dogs,available,3"},
	"the same category":              {nil, into(2), map[int]string{2: "cats"}, "Rex,Cats,available,3"},
	"the same status and stock":      {nil, stocked(0), map[int]string{3: "sold", 4: "0"}, "Rex,Dogs,sold,0"},
	"two names":                      {nil, named("Tim"), map[int]string{1: "Max"}, `2: name: the file changes it to "Max", and since the export it was changed to "Tim".`},
	"two categories":                 {nil, into(2), map[int]string{2: "Birds"}, `2: category: the file changes it to "Birds", and since the export it was changed to "Cats".`},
	"two states":                     {nil, stocked(0), map[int]string{3: "pending"}, `2: status: the file changes it to pending, and since the export it was changed to sold.`},
	"two stocks":                     {nil, ordered, map[int]string{4: "5"}, `2: stock: the file changes it to 5, and since the export it was changed to 2.`},
	"a stock that settles it":        {nil, nil, map[int]string{4: "0"}, "Rex,Dogs,sold,0"},
	"a stock that was none":          {stocked(0), nil, map[int]string{4: "2"}, "Rex,Dogs,available,2"},
	"a status against the stock":     {nil, nil, map[int]string{3: "sold", 4: "2"}, "Rex,Dogs,available,2"},
	"a status with its stock":        {pending, nil, map[int]string{3: "available", 4: "5"}, "Rex,Dogs,available,5"},
	"another against the stock":      {pending, nil, map[int]string{3: "available", 4: "0"}, "Rex,Dogs,sold,0"},
	"no stock with an open order":    {ordered, nil, map[int]string{3: "sold", 4: "0"}, "2: The pet 1 has 1 open order; complete or cancel it before it is sold."},
	"a status that empties it":       {nil, nil, map[int]string{3: "sold"}, "Rex,Dogs,sold,0"},
	"a status that needs stock":      {stocked(0), nil, map[int]string{3: "available"}, "2: The pet 1 has no stock; set its inventory before it becomes available."},
	"a status with an open order":    {ordered, nil, map[int]string{3: "sold"}, "2: The pet 1 has 1 open order; complete or cancel it before it is sold."},
	"empty cells":                    {nil, named("Tim"), map[int]string{1: "", 2: "", 3: "", 4: ""}, "Tim,Dogs,available,3"},
	"a pet that is gone":             {nil, gone, nil, ""},
	"an edit of a pet that is gone":  {nil, gone, map[int]string{1: "Max"}, "2: There is no pet with the id 1."},
	"a category with another name":   {nil, renamed, nil, "Rex,Hounds,available,3"},
	"the old name of the category":   {nil, renamed, map[int]string{2: "Dogs"}, "Rex,Hounds,available,3"},
	"the new name of the category":   {nil, renamed, map[int]string{2: "HOUNDS"}, "Rex,Hounds,available,3"},
	"its own of two alike":           {doubled, nil, map[int]string{2: "DOGS"}, "Rex,Dogs,available,3"},
	"a number that was written anew": {named("00123"), nil, map[int]string{1: "123"}, "00123,Dogs,available,3"},
	"a formula":                      {named("=1+1"), nil, map[int]string{2: "Cats"}, "'=1+1,Cats,available,3"},
}

// TestMerge: the result of an import is the merge of the edits of the file and of what the shop did since the export, cell by
// cell; or, if a cell was changed by both or a rule is broken, nothing. The trial says the same before, and changes nothing.
func TestMerge(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	for name, m := range merges {
		shop, workspace := petstore.NewService(db), newWorkspace(t, db, name)
		lives := func(d day) {
			if d == nil {
				return
			}
			if err := d(t.Context(), shop, workspace); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := run(t, db, workspace, "name,category,stock\nRex,Dogs,3\nTom,Cats,1\n", "", (*interchange.Import).Run); err != nil {
			t.Fatal(err)
		}
		lives(m.before)
		rows := rowsOf(t, db, workspace)
		lives(m.meanwhile)
		for column, value := range m.edits {
			rows[1][column] = value
		}
		var text strings.Builder
		if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		before := export(t, db, workspace, interchange.NDJSON)
		tried, tryErr := run(t, db, workspace, text.String(), "", (*interchange.Import).Try)
		untouched := export(t, db, workspace, interchange.NDJSON) == before
		kept, err := run(t, db, workspace, text.String(), "", (*interchange.Import).Run)
		if !untouched || fmt.Sprint(tryErr) != fmt.Sprint(err) || err == nil && (tried.Changed != kept.Changed || tried.Left != kept.Left || tried.Categories != kept.Categories) {
			t.Errorf("%s: the import is %+v, %v, its trial %+v, %v, which changes nothing: %t", name, kept, err, tried, tryErr, untouched)
		}
		got := ""
		if err != nil {
			if got = err.Error(); export(t, db, workspace, interchange.NDJSON) != before {
				t.Errorf("%s: the import that failed changed something", name)
			}
		} else if row := rowsOf(t, db, workspace)[1]; row[0] == "1" {
			got = strings.Join(row[1:5], ",")
		}
		if got != m.want {
			t.Errorf("%s = %s, want %s", name, got, m.want)
		}
	}
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check() = %v, %v, want none", problems, err)
	}
}

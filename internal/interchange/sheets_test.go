package interchange_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
)

// TestLibreOffice: LibreOffice 7.4 opened an export of seed.csv, changed the name Rex to Max, and saved it in each of its forms of
// CSV, of which some write 00123 as 123 and 1E5 as 1.00E+05; the versions are of a later build. Only the name changes.
func TestLibreOffice(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", "libreoffice", name+".csv"))
		must(t, err)
		return string(text)
	}
	for name, want := range map[string]string{
		"comma": "", "semicolon": "", "tab": "", "shown": "", "utf16": "",
		"windows1252": "3: the text is not UTF-8, but Windows-1252 or the like; save the file in UTF-8 (in a spreadsheet: CSV UTF-8)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openStore(t)
			workspace := newWorkspace(t, db, "shop")
			if _, _, err := load(db, workspace, read("seed"), interchange.CSV, false); err != nil {
				t.Fatal(err)
			}
			before := sheetOf(t, db, workspace)
			report, faults, err := load(db, workspace, read(name), interchange.CSV, true)
			if want != "" {
				if err == nil || err.Error() != want || len(faults) > 0 {
					t.Errorf("import = %v, %v, want %q once", faults, err, want)
				}
				return
			}
			if err != nil || report.Changed != 1 || report.Left != 11 || len(faults) > 0 {
				t.Errorf("import = %+v, %v, %v, want 1 changed and 11 left", report, faults, err)
			}
			if got, want := sheetOf(t, db, workspace), strings.Replace(before, "1,Rex", "1,Max", 1); got != want {
				t.Errorf("the shop has\n%s, want\n%s", got, want)
			}
		})
	}
}

// TestShapes: what programs make of the same two rows is the same.
func TestShapes(t *testing.T) {
	t.Parallel()
	const want = "id,name,category,status,stock\n1, Rex,Dogs,available,3\n2,Tom,Cats,available,1\n"
	for name, text := range map[string]string{
		"plain":               "name,category,stock\n Rex,Dogs,3\nTom,Cats,\n",
		"mark":                "\ufeffname,category,stock\n Rex,Dogs,3\nTom,Cats,\n",
		"sep=":                "sep=;\nname;category;stock\n Rex;Dogs;3\nTom;Cats;\n",
		"mark, sep=, CR LF":   "\ufeffsep=;\r\nname;category;stock\r\n Rex;Dogs;3\r\nTom;Cats;\r\n",
		"quoted sep=":         "\"sep=|\"\nname|category|stock\n Rex|Dogs|3\nTom|Cats|\n",
		"CR alone":            "name,category,stock\r Rex,Dogs,3\rTom,Cats,\r",
		"empty columns":       "name,category,stock,,\n Rex,Dogs,3,,\nTom,Cats,,,,,\n",
		"an empty one within": "name,,category,stock\n Rex,,Dogs,3\nTom,,Cats\n",
		"short rows":          "name,category,stock\n Rex,Dogs,3\nTom,Cats\n",
		"blank rows":          "name,category,stock\n Rex,Dogs,3\n" + strings.Repeat("\r\n\n", 1<<10) + "Tom,Cats,\n",
		"rows of spaces":      "name,category,stock\n Rex,Dogs,3\n , , \nTom,Cats\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openStore(t)
			workspace := newWorkspace(t, db, "shop")
			if _, _, err := load(db, workspace, text, interchange.CSV, false); err != nil {
				t.Fatal(err)
			}
			if got := strings.Replace(sheetOf(t, db, workspace), `" Rex"`, " Rex", 1); got != want {
				t.Errorf("the shop has\n%s, want\n%s", got, want)
			}
		})
	}
}

// TestSpacedHeader: where the first line has spaces after its commas, those of the rows are no part of names either.
func TestSpacedHeader(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	workspace := newWorkspace(t, db, "shop")
	if _, _, err := load(db, workspace, "name, category, stock\nRex, Dogs, 3\nTom, Dogs, +1\n", interchange.CSV, true); err != nil {
		t.Fatal(err)
	}
	if got, want := sheetOf(t, db, workspace), "id,name,category,status,stock\n1,Rex,Dogs,available,3\n"; got != want {
		t.Errorf("the shop has %q, want %q", got, want)
	}
}

// TestEscape: no cell, and no part of one that is split at a separator of some country, begins as a formula, and every text is
// read back.
func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Rex": "Rex", "": "", "=1+1": "'=1+1", "'=1": "''=1", "-5%": "'-5%", "＝1": "'＝1", "a;=b": "a;'=b", "a,+b;\"@c": "a,'+b;'\"@c", "'quoted'": "'quoted'", "a=b": "a=b", "a, -b": "a, -b",
	} {
		if got := interchange.Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a'"=+@,;|\t ＝－-]{0,8}`).Draw(t, "text")
		cell := interchange.Escape(text)
		if got := interchange.Unescape(cell); got != text {
			t.Errorf("Unescape(Escape(%q)) = %q", text, got)
		}
		for _, part := range strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(",;|\t", r) }) {
			if strings.ContainsAny(strings.Trim(part, `"`)[:min(1, len(strings.Trim(part, `"`)))], "=+-@") {
				t.Errorf("Escape(%q) = %q, of which %q is a formula", text, cell, part)
			}
		}
	})
}

// TestCategories: a name means the category that is written so, then the one that is written alike, then a new one; what may be
// several is a fault that names them.
func TestCategories(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	workspace := newWorkspace(t, db, "shop")
	shop := petstore.NewService(db)
	for _, name := range []string{"Dogs", "Cats", "cats", "Fish", "Fish", " Birds"} {
		if _, err := shop.CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: name}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		cell, fault string
		id          int64
		similar     string
	}{
		{"Dogs", "", 1, ""}, {"DOGS", "", 1, ""}, {"cats", "", 3, ""}, {"birds", "", 6, ""},
		{"CATS", `2: category: "CATS" may be each of several; give them names that can be told apart: 2 ("Cats"), 3 ("cats")`, 0, ""},
		{"Fish", `2: category: "Fish" may be each of several; give them names that can be told apart: 4 ("Fish"), 5 ("Fish")`, 0, ""},
		{"Dog ", "", -1, "Dogs"}, {"Horses", "", -1, ""}, {"Dogz", "", -1, "Dogs"},
	} {
		text := "name,category\nRex," + c.cell + "\n"
		report, err := run(t, db, workspace, text, "", (*interchange.Import).DryRun)
		if c.fault != "" {
			if err == nil || err.Error() != c.fault {
				t.Errorf("%q: %v, want %q", c.cell, err, c.fault)
			}
			continue
		}
		if made := report.Notes.Categories; err != nil || (c.id < 0) != (len(made) == 1) || len(made) == 1 && (made[0].Name != c.cell || made[0].Similar != c.similar) {
			t.Errorf("%q: %+v, %v, want the category %d, similar to %q", c.cell, report, err, c.id, c.similar)
		}
	}
}

// A crowd is a store with many categories.
type crowd struct {
	everyPet
	categories int64
}

func (c crowd) DryRun(_ context.Context, _ int64, f func(petstore.Bulk) error) error { return f(c) }

func (c crowd) Categories(_ context.Context, _ int64, q petstore.CategoryQuery) (some []petstore.Category, _ error) {
	for id := q.After + 1; id <= min(c.categories, q.After+int64(q.Limit)); id++ {
		some = append(some, petstore.Category{ID: id, Name: fmt.Sprint("Dogs of the ", id, ". litter")})
	}
	return some, nil
}

// TestSimilarIsBounded: only a dry run looks for categories with similar names, and not among very many.
func TestSimilarIsBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		categories int64
		do         do
		want       string
	}{
		{"dry run", 2500, (*interchange.Import).DryRun, "Dogs of the 1. litter"},
		{"dry run with too many", 2501, (*interchange.Import).DryRun, ""},
		{"import", 2500, (*interchange.Import).Run, ""},
	} {
		report, err := run(t, crowd{categories: test.categories}, 1, "name,category\nRex,Dogs of the 1 litter\n", "", test.do)
		if made := report.Notes.Categories; err != nil || len(made) != 1 || made[0].Similar != test.want {
			t.Errorf("%s: new categories %+v, %v, want one that is similar to %q", test.name, made, err, test.want)
		}
	}
}

// TestQuestions: what should be confirmed is noted, and nothing else is.
func TestQuestions(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	workspace := newWorkspace(t, db, "shop")
	var text strings.Builder
	text.WriteString("name,category,stock\n")
	for n := range 300 {
		fmt.Fprintf(&text, "Pet %d,Dogs,2\n", n)
	}
	const short = "name,category\nMo,Dogs\nBo,Dogs\n" // a search for one would read the whole shop
	for _, text := range []string{text.String(), short} {
		if _, _, err := load(db, workspace, text, interchange.CSV, false); err != nil {
			t.Fatal(err)
		}
	}
	const blind = ", whatever was sold since the file was made, as the file has no column version"
	for name, c := range map[string]struct{ text, want string }{
		"the file again":     {text.String(), "add 300 pets, though pets with all their names are there already"},
		"a corrected one":    {strings.ReplaceAll(strings.ReplaceAll(text.String(), "Dogs", "Cats"), "Pet 1\n", "Rex\n"), "add 300 pets, though pets with all their names are there already"},
		"others":             {strings.ReplaceAll(text.String(), "Pet", "Bird"), ""},
		"one":                {"name,category\nPet 1,Dogs\n", ""},
		"most":               {"name,category\nPET 1,Dogs\nPet 2,Dogs\nRex,Dogs\n", "add 3 pets, though pets with most of their names are there already"},
		"short names":        {short, ""},
		"stock":              {"id,stock\n1,3\n2,2\n3,0\n", "set the stock of 2 pets" + blind},
		"added":              {"id,add\n1,+3\n2,-1\n", ""},
		"an export":          {export(t, db, workspace, interchange.CSV), ""},
		"an edit":            {strings.Replace(export(t, db, workspace, interchange.CSV), "available,2", "available,9", 1), ""},
		"without the column": {sheetOf(t, db, workspace), ""},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := run(t, db, workspace, c.text, "", (*interchange.Import).DryRun)
			if got := strings.Join(report.Notes.Questions, "; "); err != nil || got != c.want {
				t.Errorf("Try asks %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

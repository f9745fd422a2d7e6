package interchange_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/sqlite"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func openStore(t testing.TB) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{Readers: 1, Now: func() time.Time { return noon }})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

type failer interface {
	Helper()
	Fatal(...any)
}

func newWorkspace(t failer, db access.Store, name string) int64 {
	w, err := db.CreateWorkspace(context.Background(), access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "test")
	must(t, err)
	return w.ID
}

func export(t failer, db petstore.Bulk, workspace int64, f interchange.Format) string {
	var out bytes.Buffer
	w := interchange.NewWriter(&out, f, interchange.Head{Workspace: "shop", ExportedAt: petstore.At(noon)})
	must(t, db.Dump(context.Background(), workspace, w))
	must(t, w.Close())
	return out.String()
}

// rowsOf returns the rows of export as CSV.
func rowsOf(t failer, db petstore.Bulk, workspace int64) [][]string {
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(export(t, db, workspace, interchange.CSV), interchange.ByteOrderMark))).ReadAll()
	must(t, err)
	return rows
}

// sheetOf is export as CSV, without the mark and the versions.
func sheetOf(t failer, db petstore.Bulk, workspace int64) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	for _, row := range rowsOf(t, db, workspace) {
		w.Write(row[:len(row)-1])
	}
	w.Flush()
	return out.String()
}

// do imports a text, or tries it. With a file, the store remembers how far that came.
type do func(*interchange.Import, context.Context) (interchange.Report, error)

// run has do import a text of CSV, or of NDJSON if that is what it looks like.
func run(t failer, to petstore.Bulk, workspace int64, text, file string, do do) (interchange.Report, error) {
	format := interchange.CSV
	if strings.HasPrefix(text, "{") {
		format = interchange.NDJSON
	}
	from, err := interchange.NewReader(strings.NewReader(text), format)
	must(t, err)
	return do(&interchange.Import{From: from, To: to, Workspace: workspace, Now: func() time.Time { return noon }, File: file}, context.Background())
}

// load imports a text and returns the report, the faults and the error.
func load(db petstore.Bulk, workspace int64, text string, f interchange.Format, skip bool) (r interchange.Report, faults []string, err error) {
	from, err := interchange.NewReader(strings.NewReader(text), f)
	if err != nil {
		return r, nil, err
	}
	i := interchange.Import{From: from, To: db, Workspace: workspace, Now: func() time.Time { return noon }, SkipFaults: skip}
	r, err = i.Run(context.Background())
	for _, f := range r.Faults {
		faults = append(faults, f.Error())
	}
	return r, faults, err
}

// live does a random day's work in the shop; refusals are part of it.
func live(t *rapid.T, shop *petstore.Service, workspace int64) {
	ctx := context.Background()
	names := rapid.StringMatching(`[a-zA-Z"\\ äß猫,;\x{2028}]{0,12}x`)
	id := func(label string) int64 { return int64(rapid.IntRange(1, 8).Draw(t, label)) }
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			description := names.Draw(t, "description")
			shop.CreateCategory(ctx, workspace, petstore.NewCategory{Name: names.Draw(t, "category"), Description: &description}, nil)
		case 1, 2:
			shop.CreatePet(ctx, workspace, petstore.NewPet{Name: names.Draw(t, "pet"), CategoryID: id("category"),
				Status: rapid.SampledFrom([]petstore.Status{"", petstore.Available, petstore.Pending, petstore.Sold}).Draw(t, "status")}, nil)
		case 3:
			shop.UpdateInventory(ctx, workspace, id("pet"), int64(rapid.IntRange(0, 9).Draw(t, "stock")), petstore.Condition{})
		case 4, 5:
			shop.CreateOrder(ctx, workspace, petstore.NewOrder{PetID: id("pet"), Quantity: id("units"), Complete: rapid.Bool().Draw(t, "complete"),
				ShipDate: petstore.Time{Millis: int64(rapid.IntRange(0, 1<<40).Draw(t, "ships")), Valid: rapid.Bool().Draw(t, "dated")}}, nil)
		case 6:
			shop.CancelOrder(ctx, workspace, id("order"), petstore.Condition{})
		case 7:
			shop.UpdateOrder(ctx, workspace, id("order"), petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{})
		case 8:
			shop.DeletePet(ctx, workspace, id("pet"), petstore.Condition{})
		case 9:
			shop.UpdatePet(ctx, workspace, id("pet"), petstore.PetPatch{Status: petstore.Some(rapid.SampledFrom(petstore.Statuses()).Draw(t, "mark"))}, petstore.Condition{})
		}
	}
}

// What was exported and imported is exported again as the same bytes, and the
// ledger explains all of it.
func TestRoundTripLosesNothing(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	shop, run := petstore.NewService(db), 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		first := newWorkspace(t, db, fmt.Sprintf("first %d", run))
		if _, err := shop.CreateCategory(context.Background(), first, petstore.NewCategory{Name: "Dogs"}, nil); err != nil {
			t.Fatal(err)
		}
		live(t, shop, first)
		want := export(t, db, first, interchange.NDJSON)
		second := newWorkspace(t, db, fmt.Sprintf("second %d", run))
		if _, _, err := load(db, second, want, interchange.NDJSON, false); err != nil {
			t.Fatalf("import of\n%s= %v", want, err)
		}
		if got := export(t, db, second, interchange.NDJSON); got != want {
			t.Fatalf("exported\n%s, want\n%s", got, want)
		}
	})
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Fatalf("Check() = %v, %v, want none", problems, err)
	}
}

// inUTF16 returns text in UTF-16 with a byte order mark, and with unit instead of each U+FFFD.
func inUTF16(text string, unit uint16) string {
	out := []byte("\xff\xfe")
	for _, u := range utf16.Encode([]rune(text)) {
		if u == 0xfffd {
			u = unit
		}
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

const (
	head = `{"type":"petstore","version":1}` + "\n"
	dogs = `{"type":"category","id":1,"name":"Dogs"}` + "\n"
	rex  = `{"type":"pet","id":1,"name":"Rex","categoryId":1,"status":"available","quantity":2}` + "\n"
)

// faultyFiles are files that cannot be imported, and what the error says.
var faultyFiles = []struct {
	name   string
	format interchange.Format
	text   string
	want   string
}{
	{"empty", interchange.NDJSON, "", "1: the file is empty"},
	{"no head", interchange.NDJSON, dogs, "1: the file does not begin with a line of the type petstore"},
	{"newer", interchange.NDJSON, `{"type":"petstore","version":2}`, "1: the file has the version 2; this program reads version 1"},
	{"not JSON", interchange.NDJSON, head + "{", "2: the line is not JSON: it ends too early"},
	{"not UTF-8", interchange.NDJSON, head + "{\"type\":\"pet\xff\"}", "2: the text is not UTF-8"},
	{"twice", interchange.NDJSON, head + `{"type":"category","id":1,"id":2,"name":"a"}`, "2: a member occurs twice"},
	{"unknown member", interchange.NDJSON, head + `{"type":"category","id":1,"name":"a","colour":1}`, `no member "colour"`},
	{"fraction", interchange.NDJSON, head + `{"type":"category","id":1.0,"name":"a"}`, "2: id must be a whole number"},
	{"unknown type", interchange.NDJSON, head + `{"type":"cat"}`, `2: there is no type "cat"`},
	{"blank name", interchange.NDJSON, head + `{"type":"category","id":1,"name":" "}`, "2: name must not be blank."},
	{"no category", interchange.NDJSON, head + rex, "2: There is no category with the id 1."},
	{"clash", interchange.NDJSON, head + dogs + "\n" + dogs, "4: There is a category with the id 1 already."},
	{"order apart", interchange.NDJSON, head + dogs + rex + `{"type":"order","id":1,"petId":2,"quantity":1,"complete":false}`, "4: The order 1 is open, and its pet 2 does not come before it."},
	{"ledger", interchange.NDJSON, head + dogs + rex + `{"type":"movement","petId":1,"number":1,"kind":"created","delta":1,"quantity":1,"at":"2026-01-01T00:00:00Z"}`, "3: quantity is 2, and the ledger says 1."},
	{"cut off", interchange.NDJSON, `{"type":"petstore","version":1,"exportedAt":"2026-01-01T00:00:00Z"}` + "\n" + dogs, "the file is cut off"},
	{"after its end", interchange.NDJSON, head + dogs + `{"type":"end"}` + "\n" + dogs, "4: the file continues after its end"},
	{"no id", interchange.NDJSON, head + `{"type":"category","name":"a"}`, "2: id must be between 1 and 9007199254740991"},
	{"no object", interchange.NDJSON, head + `[1]`, "2: the line is not a JSON object"},
	{"no instant", interchange.NDJSON, head + `{"type":"movement","petId":1,"at":"today"}`, "2: at must be a date-time of RFC 3339"},
	{"continued", interchange.NDJSON, head + dogs[:len(dogs)-1] + "{}", "2: the line is not JSON at byte"},
	{"UTF-16 without a mark", interchange.CSV, "n\x00,\x00", "1: the file is UTF-16 without a byte order mark, or UTF-32; save it in UTF-8 (in a spreadsheet: CSV UTF-8)"},
	{"UTF-16 without a mark, big end first", interchange.CSV, "\x00n\x00,", "1: the file is UTF-16 without a byte order mark, or UTF-32"},
	{"UTF-32", interchange.CSV, "\x00\x00\xfe\xff\x00\x00\x00n", "1: the file is UTF-16 without a byte order mark, or UTF-32"},
	{"UTF-32, little end first", interchange.CSV, "\xff\xfe\x00\x00n\x00\x00\x00", "1: the file is UTF-16 without a byte order mark, or UTF-32"},
	{"half a character", interchange.CSV, inUTF16("name,category\nRe\ufffd,Dogs\n", 0xd83d), "2: a character is damaged: it is U+FFFD, or half of one in UTF-16"},
	{"half a character", interchange.NDJSON, inUTF16(head+dogs+strings.Replace(rex, "Rex", "Re\ufffd", 1), 0xde00), "3: a character is damaged"},
	{"wrong column", interchange.CSV, "name,species\n", `1: there is no column "species"; the columns are id,`},
	{"duplicate column", interchange.CSV, "name,category,Name\n", "1: the column name occurs twice, as number 1 and 3"},
	{"missing column", interchange.CSV, "name,stock\n", "1: the column category is missing"},
	{"latin-1", interchange.CSV, "name,category\nR\xe9x,Dogs\n", "2: the text is not UTF-8"},
	{"no category", interchange.CSV, "name,category\r\nRex\r\n", "2: category: a new pet needs one"},
	{"too many cells", interchange.CSV, "name,category,,\nRex,Dogs,,,\nTom,the cat,Cats\n", `3: column 3: "Cats" stands in a column without a name; are there too many separators?`},
	{"after a quoted newline", interchange.CSV, "name,category,stock\nRex,\"Do\ngs\",x\nA,B,x\n", `2: stock: "x" is not a whole number`},
	{"open quote", interchange.CSV, "name,category\nRex,\"Dogs\nA,B\n", "2: a quoted cell is not closed properly"},
	{"open quote before blank lines", interchange.CSV, "name,category\nRex,\"" + strings.Repeat("\n", 1<<18), "2: the record that begins here has more than 131072 bytes; is a quotation mark missing?"},
	{"status", interchange.CSV, "name,category,status\nRex,Dogs,gone\n", `2: status: "gone" is none of available, pending and sold`},
	{"stock with a sign", interchange.CSV, "name,category,stock\nRex,Dogs,-1\n", `2: stock: "-1" has a sign; stock says how many there are, and the column add how many came or went`},
	{"unknown id", interchange.CSV, "id,stock\n99,1\n", "2: There is no pet with the id 99."},
	{"wrong id", interchange.CSV, "id,stock\nx,1\n", `2: id: "x" is not the id of a pet; leave the cell empty for a new one`},
	{"new pet without a name", interchange.CSV, "id,stock\n,1\n", "2: a row without an id is a new pet, which needs the columns name and category"},
	{"stock beyond all", interchange.CSV, "name,category,stock\nRex,Dogs,99999999999999999999\n", "2: stock: must be between 0 and 1000000000"},
}

func TestFaultsNameTheirLine(t *testing.T) {
	t.Parallel()
	for _, c := range faultyFiles {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := openStore(t)
			workspace := newWorkspace(t, db, "shop")
			before := export(t, db, workspace, interchange.NDJSON)
			_, _, err := load(db, workspace, c.text, c.format, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("import of %q = %v, want %q", c.text, err, c.want)
			}
			if after := export(t, db, workspace, interchange.NDJSON); after != before {
				t.Errorf("a failed import kept\n%s", after)
			}
		})
	}
}

func TestSkipKeepsTheRest(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	workspace := newWorkspace(t, db, "shop")
	text := "\ufeffStock;Name;Category\r\n3;Rex;Dogs\r\nx;Bad;Dogs\r\n;\"To\"\"m\";dogs\r\n0;Gone;Cats\r\n"
	report, faults, err := load(db, workspace, text, interchange.CSV, true)
	if err != nil || report.Pets != 3 || report.Categories != 2 || report.Skipped != 1 || len(faults) != 1 {
		t.Fatalf("import = %+v, %v, %v, want 3 pets, 2 categories, 1 skipped", report, faults, err)
	}
	const want = "id,name,category,status,stock\n1,Rex,Dogs,available,3\n2,\"To\"\"m\",Dogs,available,1\n3,Gone,Cats,sold,0\n"
	if got := sheetOf(t, db, workspace); got != want {
		t.Errorf("exported %q, want %q", got, want)
	}
}

// TestUnitWithFaults: each bad line of a unit is named, also if the file ends with a fault after them, and the unit is
// left out with its good ones.
func TestUnitWithFaults(t *testing.T) {
	t.Parallel()
	const rex, made = `{"type":"pet","id":1,"name":"Rex","categoryId":1,"status":"available","quantity":2}` + "\n", `{"type":"movement","petId":1,"number":2,"kind":"created","delta":2,"quantity":2,"at":"2026-01-01T00:00:00Z"}` + "\n"
	const tom = `{"type":"pet","id":2,"name":"Tom","categoryId":1,"status":"available","quantity":1}` + "\n"
	for _, test := range []struct {
		name, text string
		pets       int64
		want       []string
		final      string
	}{
		{"an order and a movement", rex + `{"type":"order","petId":1,"id":"x"}` + "\n" + `{"type":"movement","petId":1,"num` + "\n" + made + tom, 1,
			[]string{"4: id must be a whole number (the pet 1, from line 3 on, is left out with it)", "5: the line is not JSON: it ends too early"}, ""},
		{"no objects", rex + "null\n[]\n1\n" + made + tom, 1,
			[]string{`4: there is no type ""; the types are category, pet, order, movement and end (the pet 1, from line 3 on, is left out with it)`, "5: the line is not a JSON object", "6: the line is not a JSON object"}, ""},
		{"a pet and its movement", strings.Replace(rex, "2}", `"x"}`, 1) + `{"type":"movement","petId":1,"at":"today"}` + "\n" + made + tom, 1,
			[]string{"3: quantity must be a whole number", "4: at must be a date-time of RFC 3339 with an offset, such as 2026-01-31T12:00:00Z"}, ""},
		{"a pet without id, and its movements", strings.Replace(rex, `"id":1`, `"id":"x"`, 1) + made + made + tom, 1,
			[]string{"3: id must be a whole number"}, ""},
		{"the file's end", rex + "{}\n" + `{"type":"end"}` + "\n" + tom, 0,
			[]string{`4: there is no type ""; the types are category, pet, order, movement and end (the pet 1, from line 3 on, is left out with it)`}, "6: the file continues after its end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := openStore(t)
			text := `{"type":"petstore","version":1}` + "\n" + `{"type":"category","id":1,"name":"Dogs"}` + "\n" + test.text
			report, faults, err := load(db, newWorkspace(t, db, "shop"), text, interchange.NDJSON, true)
			if (err != nil || test.final != "") && (err == nil || err.Error() != test.final) || report.Pets != test.pets || report.Skipped != int64(len(test.want)) || !slices.Equal(faults, test.want) {
				t.Errorf("import = %+v, %q, %v, want %d pet, %q and %q", report, faults, err, test.pets, test.want, test.final)
			}
		})
	}
}

// A dying store ends after some batches.
type dying struct {
	petstore.Bulk
	left int
}

var errDied = errors.New("the store died")

func (d *dying) Load(ctx context.Context, workspace int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	if d.left--; d.left < 0 {
		return nil, errDied
	}
	return d.Bulk.Load(ctx, workspace, b)
}

// An import that was cut off and is repeated with the file that the store remembers doubles nothing and loses nothing,
// wherever it was cut: no pet, and no addition to a stock. It has few transactions, also if new pets and edits take turns in
// the file. The same file later adds once more.
func TestRepeatedImportDoublesNothing(t *testing.T) {
	t.Parallel()
	var made, text strings.Builder
	made.WriteString("name,category,stock\n")
	text.WriteString("id,name,category,stock,add\n")
	for n := range 700 {
		fmt.Fprintf(&made, "Pet %d,Kind %d,5\n", n, n/40)
		fmt.Fprintf(&text, ",New %d,Sort %d,%d,\n%d,,,,+1\n", n, n/40, n%3, n+2)
	}
	made.WriteString("Last,Kind 1,5\n")
	text.WriteString("1,,,,+7\n")
	file, keep := text.String(), (*interchange.Import).Run
	engines(t, func(t *testing.T, db keeper, _ int) {
		once := newWorkspace(t, db, "once")
		for _, text := range []string{made.String(), file} {
			_, err := run(t, db, once, text, "", keep)
			must(t, err)
		}
		for _, file := range []string{file, export(t, db, once, interchange.NDJSON)} {
			shop := newWorkspace(t, db, "shop "+file[:2])
			if file[0] == 'i' {
				_, err := run(t, db, shop, made.String(), "", keep)
				must(t, err)
			}
			cuts := 0
			for err := errDied; errors.Is(err, errDied); cuts++ {
				_, err = run(t, &dying{db, 1}, shop, file, "digest", keep)
			}
			if cuts < 3 || cuts > 40 {
				t.Errorf("the import had %d transactions, want 3 to 40", cuts)
			}
			if got, want := sheetOf(t, db, shop), sheetOf(t, db, once); got != want {
				t.Errorf("after %d cuts the shop has\n%s, want\n%s", cuts, got, want)
			}
			if reached, err := db.ImportedThrough(t.Context(), shop, "digest"); reached != 0 || err != nil {
				t.Errorf("ImportedThrough at the end = %d, %v, want 0", reached, err)
			}
			if r, err := run(t, db, shop, "id,add\n1,+3\n", "digest", keep); r.Changed != 1 || err != nil {
				t.Errorf("a later import = %+v, %v", r, err)
			}
		}
	})
}

func TestRowsWithIDsChangeThosePets(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	workspace := newWorkspace(t, db, "shop")
	const before = "name,category,stock\nRex,Dogs,3\nTom,Cats,2\nMuffin,Cats,1\nGone,Cats,0\n"
	if _, _, err := load(db, workspace, before, interchange.CSV, false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text, want    string
		changed, left, pets int64
	}{
		{"nothing changed", "id,name,category,status,stock\n1,Rex,Dogs,available,3\n2,Tom,Cats,available,2\n",
			"1,Rex,Dogs,available,3\n2,Tom,Cats,available,2\n3,Muffin,Cats,available,1\n4,Gone,Cats,sold,0\n", 0, 2, 0},
		{"all kinds", "id,name,category,status,stock\n1,Max,Wolves,available,0\n2,Tom,Cats,pending,2\n,Laika,Wolves,,\n4,,,sold,5\n",
			"1,Max,Wolves,sold,0\n2,Tom,Cats,pending,2\n3,Muffin,Cats,available,1\n4,Gone,Cats,available,5\n5,Laika,Wolves,available,1\n", 3, 0, 1},
		{"the same again", "id,name,category,status,stock\n1,Max,Wolves,available,0\n2,Tom,Cats,pending,2\n4,,,sold,5\n",
			"1,Max,Wolves,sold,0\n2,Tom,Cats,pending,2\n3,Muffin,Cats,available,1\n4,Gone,Cats,available,5\n5,Laika,Wolves,available,1\n", 0, 3, 0},
		{"only what is to change", "stock,id\n9,3\n",
			"1,Max,Wolves,sold,0\n2,Tom,Cats,pending,2\n3,Muffin,Cats,available,9\n4,Gone,Cats,available,5\n5,Laika,Wolves,available,1\n", 1, 0, 0},
	} {
		report, _, err := load(db, workspace, c.text, interchange.CSV, false)
		if err != nil || report.Changed != c.changed || report.Left != c.left || report.Pets != c.pets {
			t.Errorf("%s: import = %+v, %v, want %d changed, %d left, %d made", c.name, report, err, c.changed, c.left, c.pets)
		}
		if got := sheetOf(t, db, workspace); got != "id,name,category,status,stock\n"+c.want {
			t.Errorf("%s: exported\n%swant\n%s", c.name, got, c.want)
		}
	}
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check() = %v, %v, want none", problems, err)
	}
}

func fuzz(f *testing.F, format interchange.Format) {
	f.Fuzz(func(t *testing.T, text string) {
		from, err := interchange.NewReader(strings.NewReader(text), format)
		lines := strings.Count(text, "\n") + 2
		for n := 0; err == nil || !isFinal(err); n++ {
			if n > 2*lines {
				t.Fatalf("more than %d units in %d lines", n, lines)
			}
			var e interchange.Entry
			e, err = from.Next()
			if err == nil && (e.Line < 1 || e.Line > lines) {
				t.Fatalf("the unit has the line %d of %d", e.Line, lines)
			}
			if err == nil {
				e.Check(petstore.At(noon)) // must not panic
			}
		}
	})
}

func isFinal(err error) bool {
	f, ok := errors.AsType[*interchange.Fault](err)
	return !ok || f.Final
}

func FuzzNDJSON(f *testing.F) {
	f.Add(`{"type":"petstore","version":1,"lastPetId":3}` + "\n" + `{"type":"pet","id":1,"name":"Rex","categoryId":1,"status":"available","quantity":2}` + "\n" +
		`{"type":"order","id":1,"petId":1,"quantity":1,"shipDate":"2026-01-01T00:00:00Z","complete":false}` + "\n" +
		`{"type":"movement","petId":1,"number":1,"kind":"created","delta":1,"quantity":1,"at":"2026-01-01T00:00:00Z"}` + "\n" + "{\"type\":\"pet\"")
	fuzz(f, interchange.NDJSON)
}

func FuzzCSV(f *testing.F) {
	f.Add("name;category;stock\r\n\"a\n\"\"b\";c;1\r\nx,y\n")
	fuzz(f, interchange.CSV)
}

package postgres

import (
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
)

// searched is how many pets the catalogue has in which TestNameIsFoundByTheIndex searches.
const searched = 20_000

func TestTrigramPattern(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":               "",
		"q":              "",
		"qu":             "",
		"a b c":          "", // no three letters follow each other
		"--%--":          "",
		"rex":            "%rex%",
		"sadie":          "%sadie%",
		"clara hartwick": "%cla%ra %har%twick%",
		"straße":         "%str%aße%",
		"100%_\\":        `%100%\%\_\\%`,
	} {
		if got := trigramPattern(text); got != want {
			t.Errorf("TrigramPattern(%q) = %q, want %q", text, got, want)
		}
	}
}

// fillNames gives a workspace and the one after it pets with names of two words, some
// of which are much more frequent than others.
func fillNames(tb testing.TB, url string, workspace int64, pets int) {
	tb.Helper()
	execute(tb, url, `INSERT INTO petstore.categories (workspace, id, name, folded) SELECT $1 + 1, 1, 'e', 'e'`, workspace)
	execute(tb, url, `INSERT INTO petstore.pets (workspace, id, name, category, status, quantity, open_orders, movements, folded)
		SELECT w, n, initcap(name), 1, (ARRAY['available', 'pending', 'sold'])[n % 3 + 1], n % 3, 0, 1, name
		FROM generate_series($1::bigint, $1 + 1) w, generate_series(2, $2) n, LATERAL (SELECT (ARRAY['ada', 'bella', 'clara', 'dolly', 'emma', 'flora',
			'greta', 'heidi', 'ida', 'julia'])[1 + (10 * random() ^ 2)::int % 10] || ' ' || (ARRAY['ash', 'bell', 'brook', 'dun', 'hart', 'wood'])[1 + n % 6] ||
			(ARRAY['bury', 'den', 'field', 'ham', 'ley', 'wick', 'worth'])[1 + n % 7] || CASE WHEN n % 5000 = 4000 THEN ' 100%_' ELSE '' END AS name) x`, workspace, pets)
	execute(tb, url, "ANALYZE")
}

// TestNameIsFoundByTheIndex: a search for few pets reads little more in a large catalogue.
func TestNameIsFoundByTheIndex(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	workspace, _ := newStocked(t, node(t, url, Options{}), 1)
	fillNames(t, url, workspace, searched)
	execute(t, url, "UPDATE petstore.pets SET folded = 'clara hartdale' WHERE id = $1 AND workspace = $2", searched-100, workspace)
	execute(t, url, "VACUUM ANALYZE")
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		c := readingConn(t, url+"&plan_cache_mode="+mode)
		for _, name := range []string{"clara hartdale", "zebra", "ada 100%", "flora hartbury"} {
			for _, newest := range []bool{false, true} {
				statements := storetest.Asked(dialect, func(s *store.Store) {
					_, _ = s.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 20, Newest: newest}, Name: name})
				})
				asked := statements[len(statements)-1]
				asked.List = fmt.Sprint(name, newest)
				p := explain(t, c, asked)
				if p.uses("Seq Scan") || !p.uses("Bitmap Index Scan") || p.Hit+p.Read > 190+searched/3000 {
					t.Errorf("%s, newest first %v, %s: %d blocks: %s", name, newest, mode, p.Hit+p.Read, p)
				}
			}
		}
	}
}

// TestWithoutExtensions: a database in which the extensions may not be created is
// refused in words that say what to do. Those that an administrator has created, in
// whichever schema, are taken.
func TestWithoutExtensions(t *testing.T) {
	t.Parallel()
	url := emptyDatabase(t)
	execute(t, url, `CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'no extensions here' USING ERRCODE = 'insufficient_privilege'; END $$`)
	execute(t, url, `CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION refuse()`)
	_, err := Open(t.Context(), url, Options{})
	want := "the extensions pg_trgm and btree_gin are needed (no extensions here); have an administrator run in this database: CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open = %v, want %q", err, want)
	}
	execute(t, url, "DROP EVENT TRIGGER refuse")
	execute(t, url, "CREATE SCHEMA extensions")
	execute(t, url, "CREATE EXTENSION pg_trgm SCHEMA extensions")
	execute(t, url, "CREATE EXTENSION btree_gin SCHEMA extensions")
	db := node(t, url, Options{})
	workspace, pet := newStocked(t, db, 1)
	found, err := db.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 20}, Name: "rex"})
	if err != nil || len(found) != 1 || found[0].ID != pet {
		t.Errorf("Pets = %v, %v, want the pet %d", found, err, pet)
	}
}

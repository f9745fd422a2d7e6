package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// planted is in every name of the other workspace.
const planted = "Kestrel"

// TestOtherWorkspace tries every operation on what another workspace has.
func TestOtherWorkspace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mine, theirs := s.workspace("mine"), s.workspace("theirs")
	s.serve()
	all := operations(t)
	s.stock(mine, "Own", 1)
	s.stock(theirs, planted, len(all)+2)
	ids := s.foreignIDs(all, theirs)
	s.due(theirs)
	before := s.everything(theirs)
	for i, o := range all {
		if o.public() {
			continue
		}
		id := i + 2
		s.tryForeignPath(t, o, mine, ids[i])
		s.tryForeignBody(t, o, mine, id)
		s.tryForeignQuery(t, o, mine, id)
	}
	s.tryForeignCursor(t, all, ids, mine, theirs)
	if after := s.everything(theirs); after != before {
		t.Errorf("what the other workspace has changed:\n%s\nbefore:\n%s", after, before)
	}
	for i, o := range all { // what was tried is there
		if o.named() {
			if a := s.do(request{method: o.method, path: o.at(ids[i]), key: theirs, body: text(t, o.sample(t))}); a.Status == 404 || a.Status == 400 {
				t.Errorf("its owner's %s = %d, want it done: %s", a.what, a.Status, a.Body)
			}
		}
	}
}

// foreignIDs returns for each operation an id that only the other workspace has.
func (s *site) foreignIDs(all []operation, theirs string) []any {
	s.t.Helper()
	ids := make([]any, len(all))
	for i, o := range all {
		switch ids[i] = i + 2; {
		case !o.named():
		case strings.HasPrefix(o.path, "/keys"):
			ids[i] = s.key("theirs", "--name="+planted).ID
		case strings.HasPrefix(o.path, "/webhooks"):
			ids[i] = s.hook(theirs)
		}
	}
	return ids
}

// hook makes a webhook that leads nowhere, and returns its id. Soon events are due to it.
func (s *site) hook(key string) string {
	s.t.Helper()
	var made struct{ ID string }
	a := s.do(request{method: "POST", path: "/webhooks", key: key, body: `{"url":"https://127.0.0.1:1/","description":"` + planted + `"}`}).want(201, "")
	must(s.t, json.Unmarshal([]byte(a.Body), &made))
	s.do(request{method: "POST", path: "/webhooks/" + made.ID + "/replay", key: key, body: `{"after":0}`}).want(200, "")
	return made.ID
}

// due returns when an event is due to every webhook.
func (s *site) due(key string) {
	s.t.Helper()
	for _, hook := range regexp.MustCompile(`wh_\w+`).FindAllString(s.do(request{method: "GET", path: "/webhooks", key: key}).must(200).Body, -1) {
		servertest.Eventually(s.t, "an event is due", func() bool {
			return s.do(request{method: "POST", path: "/webhooks/" + hook + "/deliveries/1/retry", key: key}).Status == 200
		})
	}
}

func (s *site) tryForeignPath(t *testing.T, o operation, key string, id any) {
	t.Helper()
	if !o.named() {
		return
	}
	a := s.do(request{method: o.method, path: o.at(id), key: key, body: text(t, o.sample(t))})
	if a.Status != http.StatusNotFound || !strings.HasSuffix(a.Code, "_not_found") || a.Code == "route_not_found" || strings.Contains(a.Body, planted) {
		t.Errorf("%s: %s = %d %s, want 404 of the resource", o.id, a.what, a.Status, a.Body)
	}
}

// tryForeignBody names what is not ours in every reference of a body.
func (s *site) tryForeignBody(t *testing.T, o operation, key string, id int) {
	t.Helper()
	if o.schema == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members(o.schema))) {
		if !strings.HasSuffix(name, "Id") && name != "id" {
			continue
		}
		body := o.sample(t)
		body[name] = id
		a := s.do(request{method: o.method, path: o.at(1), key: key, body: text(t, body)})
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"pointer":"/`+name+`"`) {
			t.Errorf("%s: %s = %d %s, want 400 that names %s", o.id, a.what, a.Status, a.Body, name)
		}
	}
}

// tryForeignQuery reads every list, and asks for what is not ours by every id.
func (s *site) tryForeignQuery(t *testing.T, o operation, key string, id int) {
	t.Helper()
	if o.method != http.MethodGet || o.named() {
		return
	}
	a := s.do(request{method: o.method, path: o.path, key: key}).must(200)
	if strings.Contains(a.Body, planted) || strings.Contains(a.Body, "theirs") {
		t.Errorf("%s shows what another workspace has: %s", o.id, a.Body)
	}
	for _, p := range o.query {
		if name := p.Value.Name; name == "id" || strings.HasSuffix(name, "Id") {
			if a := s.do(request{method: o.method, path: fmt.Sprintf("%s?%s=%d", o.path, name, id), key: key}); a.Status != 200 || a.Body != "[]" {
				t.Errorf("%s: %s = %d %s, want 200 []", o.id, a.what, a.Status, a.Body)
			}
		}
	}
}

// tryForeignCursor goes on where another workspace's list ended.
func (s *site) tryForeignCursor(t *testing.T, all []operation, ids []any, mine, theirs string) {
	t.Helper()
	lists := 0
	for i, o := range all {
		if o.query.GetByInAndName("query", "cursor") == nil {
			continue
		}
		lists++
		link := s.do(request{method: "GET", path: o.at(ids[i]) + "?limit=1", key: theirs}).must(200).Header.Get("Link")
		next, _, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if !ok {
			t.Fatalf("%s: no next page in Link %q", o.id, link)
		}
		s.do(request{method: "GET", path: next, key: theirs}).want(200, "")
		s.do(request{method: "GET", path: next, key: mine}).want(400, "invalid_cursor")
	}
	if lists < 4 {
		t.Errorf("%d lists have a cursor, want 4 or more", lists)
	}
}

// everything returns what a workspace has.
func (s *site) everything(key string) string {
	var b strings.Builder
	for _, path := range []string{"/categories", "/pets", "/inventory", "/store/orders"} {
		b.WriteString(s.do(request{method: "GET", path: path + "?limit=100", key: key}).must(200).Body + "\n")
	}
	return b.String()
}

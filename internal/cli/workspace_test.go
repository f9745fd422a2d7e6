package cli

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store/sqlite"
)

// TestDeletesWhatWasConfirmed: a workspace that was looked up by its name is deleted, though another has the name by then.
func TestDeletesWhatWasConfirmed(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{})
	processtest.Must(t, err)
	t.Cleanup(func() { db.Close() })
	ids := map[string]int64{}
	for _, name := range []string{"first", "second"} {
		w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "test")
		processtest.Must(t, err)
		ids[name] = w.ID
	}
	token, prefix := access.MintToken()
	if err := db.AddToken(t.Context(), access.Token{ID: access.MintTokenID(), Name: "t", Prefix: prefix, Hash: access.HashOf(token),
		CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}, "test"); err != nil {
		t.Fatal(err)
	}
	admin, err := httpapi.NewAdmin(httpapi.AdminOptions{
		Backups: struct{ httpapi.Backups }{}, // of which nothing is asked
		Access:  db, Counts: operator.Saved(db, time.Now), Secret: make([]byte, 32), Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Keys: access.NewDirectory(db, time.Now, func(access.Workspace, access.Key, *ratelimit.Caller) *ratelimit.Caller { return nil }),
	})
	processtest.Must(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admin.ServeHTTP(w, r)
		if r.URL.Query().Get("name") != "first" {
			return
		}
		_, err1 := db.UpdateWorkspace(r.Context(), ids["first"], "test", func(w *access.Workspace) { w.Name = "third" })
		_, err2 := db.UpdateWorkspace(r.Context(), ids["second"], "test", func(w *access.Workspace) { w.Name = "first" })
		if err1 != nil || err2 != nil {
			t.Errorf("UpdateWorkspace = %v, %v", err1, err2)
		}
	}))
	t.Cleanup(server.Close)
	var out, errs bytes.Buffer
	a := &app{out: &out, err: &errs, getenv: func(string) string { return "" }, now: time.Now, config: config.New()}
	root := newRoot(a, "workspace")
	root.SetArgs([]string{"workspace", "delete", "first", "--yes", "--server", server.URL, "--token", token})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("workspace delete = %v %s", err, errs.String())
	}
	_, err = db.WorkspaceByID(t.Context(), ids["first"])
	if petstore.CodeOf(err) != access.CodeWorkspaceNotFound {
		t.Errorf("the workspace that was confirmed = %v, want none", err)
	}
	if _, err := db.WorkspaceByID(t.Context(), ids["second"]); err != nil {
		t.Errorf("the other workspace: %v", err)
	}
}

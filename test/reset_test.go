package test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/petstore/test/servertest"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestResetBrokenOff kills the command that resets a workspace, and the server beside it. The next server ends what was
// begun.
func TestResetBrokenOff(t *testing.T) {
	t.Parallel()
	m := &movedShop{T: t, dir: t.TempDir()}
	m.fill(30_000)
	server := petstore.Start(t, servertest.Options{Dir: m.dir})
	reset := exec.Command(string(petstore), "workspace", "reset", "acme", "--yes") //nolint:gosec // a test says what to run
	reset.Dir = m.dir
	must(t, reset.Start())
	m.awaitPets(server.URL, "[]")
	must(t, reset.Process.Kill())
	if err := reset.Wait(); err == nil {
		t.Error("the reset ended before it was killed")
	}
	if a := m.ask(server.URL, "POST", "/categories", `{"name":"New"}`, ""); a.status != http.StatusCreated || a.body[:8] != `{"id":8,` {
		t.Errorf("POST /categories in the middle = %d %s, want the id 8: seven were issued", a.status, a.body)
	}
	if out, err := petstore.Run(m.dir, "doctor"); err != nil {
		t.Errorf("doctor in the middle = %s, %v, want no problem", out, err)
	}
	server.Kill()

	next := petstore.Start(t, servertest.Options{Dir: m.dir})
	m.awaitPets(next.URL, "[]")
	file, err := sqlite.OpenConn(filepath.Join(m.dir, "petstore.db"), sqlite.OpenReadOnly)
	must(t, err)
	defer file.Close()
	servertest.Eventually(t, "the removal ends", func() bool {
		left, err := sqlitex.ResultInt(file.Prep("SELECT count(*) FROM removals"))
		return err == nil && left == 0
	})
}

// awaitPets asks for pets until the answer is this.
func (m *movedShop) awaitPets(url, want string) {
	m.Helper()
	servertest.Eventually(m.T, "GET /pets = "+want, func() bool {
		a := m.ask(url, "GET", "/pets", "", "")
		return a.status == http.StatusOK && a.body == want
	})
}

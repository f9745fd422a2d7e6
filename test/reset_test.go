package test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
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
	if out, err := petstore.Run(m.dir, "doctor"); !strings.Contains(out, "is being removed") {
		t.Errorf("doctor in the middle = %s, %v, want that a removal is under way", out, err)
	}
	server.Kill()

	next := petstore.Start(t, servertest.Options{Dir: m.dir})
	m.awaitPets(next.URL, "[]")
	servertest.Eventually(t, "the removal ends", func() bool {
		out, err := petstore.Run(m.dir, "doctor")
		return err == nil && !strings.Contains(out, "is being removed")
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

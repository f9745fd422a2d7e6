package faults

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// TestStoppedWriter stops a process inside of its transaction: a command that waits
// says so.
func TestStoppedWriter(t *testing.T) {
	t.Parallel()
	servertest.Need(t, "python3", "python3")
	dir := t.TempDir()
	must(t, petstore.NewWorkspace(dir, "shop"))
	holder := exec.Command("python3", "-c", `import sqlite3, sys
db = sqlite3.connect("petstore.db", isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()`)
	holder.Dir = dir
	in, err := holder.StdinPipe() // open until the end
	must(t, err)
	defer in.Close()
	out, err := holder.StdoutPipe()
	must(t, err)
	must(t, holder.Start())
	defer func() {
		_ = holder.Process.Kill() // its end is not what is tested
		_ = holder.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	must(t, freeze(holder.Process.Pid))
	_, err = petstore.Run(dir, "workspace", "create", "other", "--plan=free")
	if err == nil || !strings.Contains(err.Error(), "another process has been writing for 5s") {
		t.Errorf("a command beside a stopped process = %v, want that another one is writing", err)
	}
}

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const someTraces = `File: petstore
Type: cpu
Duration: 5s, Total samples = 40ms
-----------+-------------------------------------------------------
      10ms   internal/runtime/syscall/linux.Syscall6
             syscall.write
             syscall.Write (inline)
             internal/poll.(*FD).Write
             net.(*conn).Write
             example.com/petstore/internal/httpapi.(*conn).serve
-----------+-------------------------------------------------------
      20ms   modernc.org/libc.Xmemcpy
             modernc.org/sqlite/lib._sqlite3VdbeExec
             example.com/petstore/internal/sqlite.(*DB).Pet
             example.com/petstore/internal/httpapi.getPet
-----------+-------------------------------------------------------
             key:value
      10ms   runtime.futex
             runtime.schedule
`

func TestSharesIn(t *testing.T) {
	t.Parallel()
	got, err := sharesIn(bytes.NewBufferString(someTraces))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"sending (system call)": .25, "store: SQLite": .5, "scheduler": .25}
	for i, p := range partsOf() {
		if math.Abs(got[i]-want[p.name]) > 1e-9 {
			t.Errorf("the share of %s = %v, want %v", p.name, got[i], want[p.name])
		}
	}
	if _, err := sharesIn(bytes.NewBufferString("File: petstore\n")); err == nil {
		t.Error("sharesIn of an empty profile = nil, want an error")
	}
}

func TestSaveWhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := filepath.Join(dir, "performance.md")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "images"), 0o755),
		os.WriteFile(page, []byte("before\n"+whereBegin+"old\n"+whereEnd+"after\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	parts := make([]float64, len(partsOf()))
	parts[1], parts[4] = 30, 10
	all := []breakdown{{"get", 40, parts}, {"order", 40, parts}}
	if err := saveWhere(dir, all, whereTable(all)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "| store: SQLite | 30.0 | 30.0 |", "| key and limits | 10.0", "| **all** | **40.0**", "after\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Errorf("the page still has the old table:\n%s", text)
	}
	image, err := os.Open(filepath.Join(dir, "images", "request-time.svg"))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	for d := xml.NewDecoder(image); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
	}
}

func TestSyscallsIn(t *testing.T) {
	t.Parallel()
	const text = `% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.600000           6     10000           write
 40.00    0.400000           2     20000     10000 read
------ ----------- ----------- --------- --------- ----------------
100.00    1.000000           3     30000     10000 total
`
	got := syscallsIn(text)
	if want := []syscallCount{{"read", 20000}, {"write", 10000}}; !slices.Equal(got, want) {
		t.Errorf("syscallsIn() = %v, want %v", got, want)
	}
}

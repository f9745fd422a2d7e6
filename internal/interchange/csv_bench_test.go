package interchange_test

import (
	"bufio"
	"fmt"
	"io"
	"testing"
	"time"

	"example.com/petstore/internal/interchange"
)

// sheet is a spreadsheet of b.N pets in 200 categories.
func sheet(b *testing.B) io.Reader {
	r, w := io.Pipe()
	b.Cleanup(func() { r.Close() })
	go func() {
		out := bufio.NewWriterSize(w, 1<<16)
		fmt.Fprintln(out, "name,category,status,stock")
		for n := range b.N {
			fmt.Fprintf(out, "\"Pet number %d, the quiet\",Category %d,,%d\n", n, n%200, n%7)
		}
		w.CloseWithError(out.Flush())
	}()
	return r
}

// BenchmarkCSV carries a spreadsheet into SQLite.
func BenchmarkCSV(b *testing.B) {
	db := openStore(b)
	workspace := newWorkspace(b, db, "bench")
	from, err := interchange.NewReader(sheet(b), interchange.CSV, interchange.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	report, err := (&interchange.Import{From: from, To: db, Workspace: workspace, Now: time.Now}).Run(b.Context())
	if err != nil || report.Pets != int64(b.N) {
		b.Fatal(report, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkReadCSV reads a spreadsheet, and keeps nothing.
func BenchmarkReadCSV(b *testing.B) {
	from, err := interchange.NewReader(sheet(b), interchange.CSV, interchange.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for {
		_, err := from.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

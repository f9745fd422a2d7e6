package browser

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/petstore/internal/sqlite"
	"example.com/petstore/internal/usage"
)

// history gives the demo shop an hour of requests, as another node of the service would.
func (s *site) history() {
	s.t.Helper()
	db, err := sqlite.Open(s.t.Context(), filepath.Join(s.dir, "petstore.db"), sqlite.Options{Readers: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Workspace(s.t.Context(), "demo")
	if err != nil {
		s.t.Fatal(err)
	}
	var rows []usage.Row
	now := time.Now().Unix() / 60 * 60
	for i := range int64(60) {
		wave := 60 + 40*math.Sin(float64(i)/7) + 15*math.Sin(float64(i)*1.9)
		row := usage.Row{Workspace: w.ID, Step: usage.Minute, Start: now - i*60}
		row.Requests = [usage.Classes]int64{int64(wave), int64(wave / 4), int64(wave / 14), max(0, int64(wave-100)), (i % 23) / 22}
		row.Latency = [usage.Buckets]int64{int64(wave / 2), int64(wave / 3), int64(wave / 5), int64(wave / 8), int64(wave / 20), int64(wave / 60), int64(wave / 90)}
		rows = append(rows, row)
	}
	if err := db.AddUsage(s.t.Context(), rows); err != nil {
		s.t.Fatal(err)
	}
}

// TestPictures makes pictures of the pages, if it is asked to.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("no -pictures FOLDER is given")
	}
	if err := os.MkdirAll(*pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	s := serve(t)
	s.history()
	b := newTab(t)
	b.signIn(t, s, s.key)
	for i := range 60 {
		s.call(s.key, "GET", "/pets?limit=5", "")
		s.call(s.key, "GET", fmt.Sprint("/pets/", i+1), "")
		if i%6 == 0 {
			s.call(s.key, "POST", "/store/orders", `{"petId":4,"quantity":2}`)
		}
	}
	take := func(name, path string, width, height int64, scheme string) {
		b.window(t, width, height)
		b.scheme(t, scheme)
		b.open(t, s.url+path)
		if path == "/console" {
			b.until(t, `document.querySelector(".live:not([hidden])") !== null`)
		}
		picture := ask(t, b, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join(*pictures, name+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range map[string]string{"console": "/console", "reference": "/docs/animals"} {
		for _, scheme := range []string{"light", "dark"} {
			take(name+"-"+scheme, path, 1440, 900, scheme)
		}
	}
}

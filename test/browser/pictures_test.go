package browser

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/usage"
)

// history gives the demo shop an hour of requests, as another node of the service would.
func (s *site) history() {
	s.t.Helper()
	db, err := sqlite.Open(s.t.Context(), filepath.Join(s.dir, "petstore.db"), sqlite.Options{Readers: 1})
	must(s.t, err)
	defer db.Close()
	w, err := db.Workspace(s.t.Context(), "demo")
	must(s.t, err)
	var rows []usage.Row
	now := time.Now().Unix() / 60 * 60
	for i := range int64(60) {
		wave := 60 + 40*math.Sin(float64(i)/7+1) + 15*math.Sin(float64(i)*1.9)
		row := usage.Row{Workspace: w.ID, Interval: usage.Minute, Start: now - i*60}
		row.Requests = [usage.Classes]int64{int64(wave), int64(wave / 4), int64(wave / 14), max(0, int64(wave-100)), (i % 23) / 22}
		row.Latency = [usage.Buckets]int64{int64(wave / 2), int64(wave / 3), int64(wave / 5), int64(wave / 8), int64(wave / 20), int64(wave / 60), int64(wave / 90)}
		rows = append(rows, row)
	}
	must(s.t, db.AddUsage(s.t.Context(), rows))
}

// TestPictures makes pictures of the pages, if it is asked to.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("no -pictures FOLDER is given")
	}
	must(t, os.MkdirAll(*pictures, 0o755))
	s := serve(t)
	s.history()
	for i, shop := range []string{"corner-shop", "zoo", "aquarium"} {
		key := s.newKey(shop, 300, 400+300*i)
		for range 250 - 80*i {
			s.call(key, "GET", "/pets", "")
		}
	}
	b := newTab(t)
	b.signIn(t, s, s.key)
	for i := range 60 {
		s.call(s.key, "GET", "/pets?limit=5", "")
		s.call(s.key, "GET", fmt.Sprint("/pets/", i+1), "")
		if i%6 == 0 {
			s.call(s.key, "POST", "/store/orders", `{"petId":4,"quantity":2}`)
		}
	}
	picture := func(name, path, scheme string) {
		b.window(t, 1440, 900)
		b.scheme(t, scheme)
		b.open(t, path)
		if strings.HasSuffix(path, "/console") {
			b.until(t, `document.querySelector(".live:not([hidden])") !== null`)
		}
		png := ask(t, b, chromedp.CaptureScreenshot())
		must(t, os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o644))
	}
	take := func(name, url string) {
		for _, scheme := range []string{"light", "dark"} {
			picture(name+"-"+scheme, url, scheme)
		}
	}
	take("console", s.url+"/console")
	take("reference", s.url+"/docs/animals")
	b.open(t, s.operatorLink())
	b.submit(t, "^/console$")
	take("operator", s.ops+"/console")
}

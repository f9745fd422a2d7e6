package security

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestHeldForms: a form of the console that began before its session ended, or its key, does nothing when its rest comes
// afterwards.
func TestHeldForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	s.serve()
	s.stock(key, "Pet", 1)
	orders := url.Values{"petId": {"1"}, "quantity": {"1"}}.Encode()
	const file = "--x\r\nContent-Disposition: form-data; name=\"do\"\r\n\r\nimport\r\n--x\r\n" +
		"Content-Disposition: form-data; name=\"file\"; filename=\"pets.csv\"\r\n\r\nname,category\nLate,Dogs\n\r\n--x--\r\n"
	ends := map[string]func(k servertest.Key, b visitor) error{
		"nothing": func(servertest.Key, visitor) error { return nil },
		"revoked": func(k servertest.Key, _ visitor) error { return s.run("key", "revoke", k.ID) },
		"banned":  func(k servertest.Key, _ visitor) error { return s.run("key", "ban", k.ID, "--for=1h", "--reason=test") },
		"signed out": func(_ servertest.Key, b visitor) error {
			b.send("POST", "/console/signout", url.Values{}, nil).must(303)
			return nil
		},
	}
	want := map[string]int{"nothing": 303, "revoked": 303, "banned": 429, "signed out": 303}
	before := s.everything(key)
	for how, end := range ends {
		for path, form := range map[string][2]string{"/console/orders/new": {"application/x-www-form-urlencoded", orders}, "/console/pets/import": {"multipart/form-data; boundary=x", file}} {
			k := s.key("shop")
			b := s.signedIn(k.Key)
			a := b.held(t, path, form[0], form[1], func() error { return end(k, b) })
			signIn := strings.HasPrefix(a.Header.Get("Location"), "/console/signin")
			if a.StatusCode != want[how] || signIn != (how == "revoked" || how == "signed out") {
				t.Errorf("%s, %s meanwhile = %d to %q, want %d", path, how, a.StatusCode, a.Header.Get("Location"), want[how])
			}
			if after := s.everything(key); (after != before) != (how == "nothing") {
				t.Errorf("%s, %s meanwhile: something changed: %v", path, how, after != before)
			} else {
				before = after
			}
		}
	}
}

func (s *site) run(args ...string) error {
	_, err := petstore.Run(s.dir, append(args, s.db...)...)
	return err
}

// held sends a form whose end comes after meanwhile, and longer than a second after its begin.
func (b visitor) held(t *testing.T, path, kind, form string, meanwhile func() error) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(b.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(servertest.Patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nCookie: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n%s",
		path, b.cookie, kind, len(form), form[:len(form)-1])
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("%s says %q, %v before the form has come", path, line, err)
	}
	began := time.Now()
	if err := meanwhile(); err != nil {
		t.Fatal(err)
	}
	for pause := time.NewTicker(100 * time.Millisecond); time.Since(began) < 1200*time.Millisecond; <-pause.C {
		b.send("GET", "/console/signin", nil, nil).must(200)
	}
	if _, err := io.WriteString(c, form[len(form)-1:]); err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadString('\n'); err != nil { // the empty line behind 100 Continue
		t.Fatal(err)
	}
	a, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

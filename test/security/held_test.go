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
	file := importForm("import", "name,category\nLate,Dogs\n")
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
	var all []*heldForm
	for how := range ends {
		for path, form := range map[string][2]string{"/console/orders/new": {"application/x-www-form-urlencoded", orders}, "/console/pets/import": {importKind, file}} {
			k := s.key("shop")
			all = append(all, s.hold(how, k, path, form[0], form[1]))
		}
	}
	for _, h := range all {
		must(t, ends[h.how](h.key, h.visitor))
	}
	<-time.After(1100 * time.Millisecond) // what takes less is not looked at again: an end holds within a second
	before := s.everything(key)
	for _, h := range all {
		a := h.finish()
		signIn := strings.HasPrefix(a.Header.Get("Location"), "/console/signin")
		if a.StatusCode != want[h.how] || signIn != (h.how == "revoked" || h.how == "signed out") {
			t.Errorf("%s, %s meanwhile = %d to %q, want %d", h.path, h.how, a.StatusCode, a.Header.Get("Location"), want[h.how])
		}
		if after := s.everything(key); (after != before) != (h.how == "nothing") {
			t.Errorf("%s, %s meanwhile: something changed: %v", h.path, h.how, after != before)
		} else {
			before = after
		}
	}
}

// importKind is the media type of importForm.
const importKind = "multipart/form-data; boundary=x"

// importForm returns the form of the console's import with a file.
func importForm(do, file string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"do\"\r\n\r\n" + do + "\r\n--x\r\n" +
		"Content-Disposition: form-data; name=\"file\"; filename=\"pets.csv\"\r\n\r\n" + file + "\r\n--x--\r\n"
}

func (s *site) run(args ...string) error {
	_, err := petstore.Run(s.dir, append(args, s.db...)...)
	return err
}

// A heldForm is one whose last byte has not been sent.
type heldForm struct {
	visitor
	how, path string
	key       servertest.Key
	conn      net.Conn
	in        *bufio.Reader
	rest      string
}

// hold begins to send a form with a session of a key.
func (s *site) hold(how string, key servertest.Key, path, kind, form string) *heldForm {
	s.t.Helper()
	b := s.signedIn(key.Key)
	c, err := net.Dial("tcp", s.addr())
	must(s.t, err)
	s.t.Cleanup(func() { c.Close() })
	must(s.t, c.SetDeadline(time.Now().Add(servertest.Patience)))
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nCookie: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n%s",
		path, b.cookie, kind, len(form), form[:len(form)-1])
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		s.t.Fatalf("%s says %q, %v before the form has come", path, line, err)
	}
	return &heldForm{b, how, path, key, c, in, form[len(form)-1:]}
}

// finish sends the rest, and returns the answer.
func (h *heldForm) finish() *http.Response {
	h.t.Helper()
	_, err := io.WriteString(h.conn, h.rest)
	if err == nil {
		_, err = h.in.ReadString('\n') // the empty line behind 100 Continue
	}
	must(h.t, err)
	a, err := http.ReadResponse(h.in, nil)
	must(h.t, err)
	return a
}

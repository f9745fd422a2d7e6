package tenants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"example.com/petstore/test/servertest"
)

// How much there is.
const (
	greedyWorkspaces = 10
	keysOfEach       = 3
	sessionsOfEach   = 2    // which have bounds of their own
	petsOfGreedy     = 1000 // whose names have 400 bytes
	largeEvents      = 400  // of 8 KB, in the feed of each greedy workspace: more than the kernel takes for a client that does not read
)

// A tenant is a workspace, and where its clients are.
type tenant struct {
	name    string
	id      int64
	keys    []servertest.Key // with every scope
	cookies []string         // of sessions in the console
	from    net.IP
}

// An installation is a database with tenants, of which each test gets a copy.
type installation struct {
	dir              string
	token            string // of the operator's API
	greedy           []*tenant
	modest, eleventh *tenant
	receivers        *receivers
	imports          sync.Mutex // there may be few at once
}

// newInstallation makes the database in dir.
func newInstallation(dir string, r *receivers) (*installation, error) {
	in := &installation{dir: dir, receivers: r, modest: newTenant("modest", 100), eleventh: newTenant("eleventh", 101)}
	for i := range greedyWorkspaces {
		in.greedy = append(in.greedy, newTenant(fmt.Sprint("greedy ", i), byte(10+i)))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	server, err := petstore.Serve(servertest.Options{Dir: dir, Flags: serveFlags()})
	if err != nil {
		return nil, err
	}
	text, err := petstore.Run(dir, "operator", "token", "create", "tests", "--expires=24h", "-o=json")
	var made struct{ Token string }
	if err == nil {
		err = json.Unmarshal([]byte(text), &made)
	}
	in.token = made.Token
	if err == nil {
		err = in.fill(server)
	}
	if err != nil {
		server.Kill()
		return nil, err
	}
	return in, server.Stop()
}

func newTenant(name string, host byte) *tenant {
	return &tenant{name: name, from: net.IPv4(127, 0, host, 1)}
}

func serveFlags() []string {
	return []string{"--log-level=error", "--h2c=on", "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8", "--console-pages=1000000"}
}

// fill makes the tenants, all at once.
func (in *installation) fill(s *servertest.Server) error {
	var all sync.WaitGroup
	failed := make([]error, greedyWorkspaces+2)
	for i, w := range append([]*tenant{in.modest, in.eleventh}, in.greedy...) {
		all.Go(func() { failed[i] = in.settle(s, w, i > 1) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// settle makes one tenant with its shop. No plan stands in the way of that, and each test
// says how many requests its clients make.
func (in *installation) settle(s *servertest.Server, w *tenant, greedy bool) error {
	c := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	operate := func(method, path, body string, to any) error {
		return ask{method, s.Ops + "/admin/v1" + path, in.token, "", body}.into(c, to)
	}
	var made struct{ ID int64 }
	err := operate("POST", "/workspaces", fmt.Sprintf(`{"name":%q,"plan":"enterprise","perMinute":1000000000,"perDay":1000000000}`, w.name), &made)
	w.id = made.ID
	for range keysOfEach {
		var k servertest.Key
		if err == nil {
			err = operate("POST", fmt.Sprintf("/workspaces/%d/keys", w.id), `{"name":"test","scopes":["read","write","manage"]}`, &k)
			w.keys = append(w.keys, k)
		}
	}
	for range sessionsOfEach {
		if err == nil {
			err = w.signIn(c, s.URL)
		}
	}
	if err == nil {
		err = in.openShop(c, w, s.URL, greedy)
	}
	return err
}

func (w *tenant) signIn(c *http.Client, base string) error {
	r, err := http.NewRequest(http.MethodPost, base+"/console/signin", strings.NewReader(url.Values{"key": {w.keys[0].Key}}.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := c.Transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	for _, cookie := range answer.Cookies() {
		if cookie.Name == "petstore_session" {
			w.cookies = append(w.cookies, cookie.Name+"="+cookie.Value)
			return nil
		}
	}
	return fmt.Errorf("%s cannot sign in: %s", w.name, answer.Status)
}

// openShop gives the tenant pets, and a greedy one long names and long events.
func (in *installation) openShop(c *http.Client, w *tenant, base string, greedy bool) error {
	n, name, events := 20, "Pet", 0
	if greedy {
		n, name, events = petsOfGreedy, strings.Repeat("🐕", 95), largeEvents
	}
	var pets strings.Builder
	pets.WriteString("name,category,stock\n")
	for i := range n {
		fmt.Fprintf(&pets, "%s %d,Kind,1000000\n", name, i)
	}
	kind, body := upload("import", pets.String())
	in.imports.Lock()
	_, err := ask{"POST", base + "/console/pets/import", w.cookies[0], kind, body}.of(context.Background(), c)
	in.imports.Unlock()
	if err != nil {
		return err
	}
	for i := range events { // each says what the description was, and is
		text := strings.Repeat(string(rune(0x1F400+i%16)), 1000)
		change := ask{"PATCH", base + "/categories/1", w.keys[0].Key, "application/merge-patch+json", `{"description":"` + text + `"}`}
		if _, err := change.of(context.Background(), c); err != nil {
			return err
		}
	}
	return nil
}

// upload returns the form of the console's import with a file, and its media type.
func upload(do, file string) (kind, body string) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	_ = form.WriteField("do", do) // into memory
	part, _ := form.CreateFormFile("file", "pets.csv")
	_, _ = io.WriteString(part, file)
	_ = form.Close()
	return form.FormDataContentType(), b.String()
}

// An ask is a request of a client that keeps the rules.
type ask struct {
	method, url string
	by          string // a key, a token or a cookie; "" for nobody
	kind        string // of the body; "" for JSON
	body        string
}

// of returns the body of the answer, or an error if it is a refusal.
func (a ask) of(ctx context.Context, c *http.Client) (string, error) {
	r := servertest.Request{Method: a.method, URL: a.url, Body: a.body, Header: map[string]string{}}
	if strings.HasPrefix(a.by, "petstore_session=") {
		r.Header["Cookie"] = a.by
	} else {
		r.Key = a.by
	}
	if a.kind != "" {
		r.Header["Content-Type"] = a.kind
	}
	answer, err := servertest.Send(ctx, c, r)
	if err == nil && answer.Status >= 400 {
		at, _, _ := strings.Cut(a.url, "?")
		err = fmt.Errorf("%s %s: %d %s", a.method, at, answer.Status, answer.Code)
	}
	return answer.Body, err
}

// into reads the answer into a value, unless that is nil.
func (a ask) into(c *http.Client, to any) error {
	body, err := a.of(context.Background(), c)
	if err != nil || to == nil {
		return err
	}
	return json.Unmarshal([]byte(body), to)
}

// copyTo copies the database into a folder.
func (in *installation) copyTo(dir string) error {
	from, err := os.Open(filepath.Join(in.dir, "petstore.db"))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "petstore.db"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

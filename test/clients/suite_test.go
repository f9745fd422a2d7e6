package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// An exchange is a request of the suite of internal/httpapi and the answer that the real handler gave.
type exchange struct {
	Method, URI string
	Header      http.Header
	Body        string
	Status      int
	Answer      http.Header
	AnswerBody  []byte
}

// once uses each connection for one request: the proxy closes idle ones, and may do so just when the next request comes.
var once = &http.Transport{DisableKeepAlives: true}

// number is the header by which the upstream server knows which answer to give.
const number = "X-Exchange"

// TestProxyOverTheWholeSuite has the suite of the API record its exchanges, every status and code that the description
// promises among them, and carries each through the validating proxy: it must see no fault in any answer, and none in a
// request that was granted.
func TestProxyOverTheWholeSuite(t *testing.T) {
	t.Parallel()
	others.Dir(t) // before the suite runs for nothing
	all := exchanges(t)
	upstream := httptest.NewServer(replay(all))
	t.Cleanup(upstream.Close)
	url := prism(t, upstream.URL)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(all); n = int(next.Add(1)) - 1 {
				all[n].judge(t, url, n)
			}
		})
	}
	workers.Wait()
}

// judge sends an exchange through the proxy.
func (e *exchange) judge(t *testing.T, url string, n int) {
	t.Helper()
	status, found, err := e.through(t.Context(), url, n)
	if err != nil || status != e.Status {
		t.Errorf("%s: %d came through the proxy as %d, %v", e.what(), e.Status, status, err)
	}
	if strings.Contains(found, `"location":["response"`) || e.Status < 300 && found != "" && !e.prismErrs(found) {
		t.Errorf("%s = %d: %s\n%s", e.what(), e.Status, found, e.AnswerBody)
	}
}

// prismErrs reports whether the proxy complains of a request without reason. The scheme of Authorization may be spelled
// in any letter case (RFC 9110 §11.1), and an int64 may be greater than what JavaScript can hold (@stoplight/http-spec
// gives the format that maximum).
func (e *exchange) prismErrs(found string) bool {
	scheme, _, _ := strings.Cut(e.Header.Get("Authorization"), " ")
	otherCase := scheme != "Bearer" && strings.EqualFold(scheme, "Bearer")
	return otherCase || strings.Contains(found, "must be <= 9007199254740991")
}

// exchanges runs the suite and returns what it records.
func exchanges(t *testing.T) []exchange {
	t.Helper()
	file := filepath.Join(t.TempDir(), "exchanges.jsonl")
	run(t, "../..", "go", "test", "-count=1", "./internal/httpapi", "-args", "-record="+file)
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	var all []exchange
	for lines := json.NewDecoder(bufio.NewReader(f)); ; {
		var e exchange
		if err := lines.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e.Answer.Get("Content-Encoding") == "" { // compressed ones have the same bytes inside
			all = append(all, e)
		}
	}
	if len(all) < 500 {
		t.Fatalf("the suite recorded only %d exchanges", len(all))
	}
	return all
}

// replay gives each request the answer that was recorded for it.
func replay(all []exchange) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.Header.Get(number))
		if err != nil || n >= len(all) {
			http.Error(w, "no such exchange", http.StatusTeapot)
			return
		}
		for name, values := range all[n].Answer {
			if name != "Content-Length" && name != "Connection" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(all[n].Status)
		_, _ = w.Write(all[n].AnswerBody) // refused after 204 and 304, which have none
	})
}

// through sends the request of an exchange to the proxy, and returns the status and what the proxy says of it: a JSON
// array of violations, cut off if they are many, or "".
func (e *exchange) through(ctx context.Context, url string, n int) (status int, found string, err error) {
	uri, body, header := e.URI, e.Body, e.Header.Clone()
	switch e.Status {
	case http.StatusRequestURITooLong, http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge:
		// The proxy has limits of its own. It is the answer that matters.
		uri, _, _ = strings.Cut(uri, "?")
		if body != "" {
			body = "{}"
		}
		header.Del("X-Padding")
	}
	// A path that is not UTF-8 ends the proxy's process.
	uri = strings.ReplaceAll(uri, "%ff", "x")
	header.Set(number, strconv.Itoa(n))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, e.Method, url+uri, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header = header
	resp, err := once.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, "", err
	}
	return resp.StatusCode, resp.Header.Get("Sl-Violations"), nil
}

func (e *exchange) what() string {
	const most = 120
	text := e.Method + " " + e.URI + " " + e.Body
	return text[:min(len(text), most)]
}

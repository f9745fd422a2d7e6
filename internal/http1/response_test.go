package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// newResponse returns the response to a request with the method.
func newResponse(method string, draining bool) *response {
	d := &atomic.Bool{}
	d.Store(draining)
	return &response{bodiless: method == http.MethodHead, draining: d}
}

// parse reads what was written as a client does.
func parse(t *testing.T, w *response, method string) (*http.Response, string) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(w.finish()))
	resp, err := http.ReadResponse(in, &http.Request{Method: method})
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	if in.Buffered() > 0 {
		rest, _ := io.ReadAll(in)
		t.Errorf("after the response comes %q", rest)
	}
	return resp, string(body)
}

// TestValueCannotEndItsLine: nor the header, whatever it holds.
func TestValueCannotEndItsLine(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"a\r\nX-Evil: b", "a\nX-Evil: b", "a\rX-Evil: b", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "a\n\rX-Evil: b", "\n"} {
		w := newResponse(http.MethodGet, false)
		var f Fields
		f.Set("X-Before", "1")
		f.Set("X-Value", value)
		f.Set("X-After", "2")
		f.Set("Content-Length", "2")
		w.WriteFields(http.StatusOK, f)
		_, _ = w.Write([]byte("ok"))
		raw := string(w.buf)
		resp, body := parse(t, w, http.MethodGet)
		if body != "ok" || resp.Header.Get("X-Evil") != "" || resp.Header.Get("X-Before") != "1" || resp.Header.Get("X-After") != "2" || len(resp.Header) != 5 {
			t.Errorf("with the value %q the header is %v, the body %q", value, resp.Header, body)
		}
		if strings.Count(raw, "\r") != strings.Count(raw, "\n") || strings.Count(raw, "\r\n") != strings.Count(raw, "\n") {
			t.Errorf("with the value %q a line does not end with CR LF: %q", value, raw)
		}
	}
}

// responses are what handlers do, and what is answered.
var responses = []struct {
	name, method string
	draining     bool
	handle       http.HandlerFunc
	status       int
	length       int64
	body         string
	last         bool
}{
	{"nothing", "GET", false, func(http.ResponseWriter, *http.Request) {}, 200, 0, "", false},
	{"body alone", "GET", false, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ab") }, 200, 2, "ab", false},
	{"two parts", "GET", false, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ab")
		_, _ = io.WriteString(w, "cd")
	}, 200, 4, "abcd", false},
	{"announced", "GET", false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "ab")
	}, 201, 2, "ab", false},
	{"HEAD", "HEAD", false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		_, _ = io.WriteString(w, "ab")
	}, 200, 2, "", false},
	{"204", "DELETE", false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, 204, 0, "", false},
	{"304 with a body", "GET", false, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotModified)
		_, _ = io.WriteString(w, "ab")
	}, 304, 0, "", false},
	{"status once", "GET", false, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProcessing)
		w.WriteHeader(http.StatusNotFound)
		w.WriteHeader(http.StatusOK)
	}, 404, 0, "", false},
	{"close", "GET", false, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, 200, 0, "", true},
	{"drain", "GET", true, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ab") }, 200, 2, "ab", true},
	{"close in a drain", "GET", true, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, 200, 0, "", true},
	{"204 in a drain", "DELETE", true, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, 204, 0, "", true},
}

func TestResponse(t *testing.T) {
	t.Parallel()
	for _, test := range responses {
		w := newResponse(test.method, test.draining)
		test.handle(w, nil)
		resp, body := parse(t, w, test.method)
		if resp.StatusCode != test.status || body != test.body || resp.Close != test.last || w.last != test.last {
			t.Errorf("%s: %d %q, last %t and %t, want %d %q, last %t", test.name, resp.StatusCode, body, resp.Close, w.last, test.status, test.body, test.last)
		}
		if resp.ContentLength != test.length {
			t.Errorf("%s: Content-Length %d, want %d", test.name, resp.ContentLength, test.length)
		}
		if _, err := http.ParseTime(resp.Header.Get("Date")); err != nil || len(resp.Header.Values("Connection")) > 1 {
			t.Errorf("%s: the header is %v, want a Date and one Connection at most", test.name, resp.Header)
		}
	}
}

// TestLateWrites: what a handler writes after it has returned goes nowhere.
func TestLateWrites(t *testing.T) {
	t.Parallel()
	w := newResponse(http.MethodGet, false)
	_, _ = io.WriteString(w, "answer")
	sent := w.finish()
	before := string(sent)
	if n, err := io.WriteString(w, "late"); n != 0 || err == nil {
		t.Errorf("Write() = %d, %v after the end, want an error", n, err)
	}
	w.WriteHeader(http.StatusTeapot)
	if string(sent) != before || len(w.buf) != 0 {
		t.Errorf("after the end the answer is %q, want %q", sent, before)
	}
}

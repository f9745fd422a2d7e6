package test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/test/servertest"
)

// do makes a request on a connection of its own.
func do(r servertest.Request) (servertest.Answer, error) {
	client := http.Client{Timeout: servertest.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	return servertest.Send(context.Background(), &client, r)
}

// parseCall reads METHOD TARGET [-H HEADER]… [BODY].
func parseCall(ts *testscript.TestScript, args []string) servertest.Request {
	if len(args) < 2 {
		ts.Fatalf("usage: http STATUS METHOD TARGET [-H HEADER]… [BODY]")
	}
	r := servertest.Request{Method: args[0], URL: args[1], Key: ts.Getenv("KEY"), Header: map[string]string{}}
	if strings.HasPrefix(r.URL, "/") {
		r.URL = ts.Getenv("URL") + r.URL
	}
	rest := args[2:]
	for len(rest) >= 2 && rest[0] == "-H" {
		name, value, ok := strings.Cut(rest[1], ":")
		if !ok {
			ts.Fatalf("the header %q has no colon", rest[1])
		}
		r.Header[name], rest = strings.TrimSpace(value), rest[2:]
	}
	if len(rest) > 0 {
		r.Body = rest[0]
	}
	return r
}

func show(ts *testscript.TestScript, a servertest.Answer) {
	fmt.Fprintf(ts.Stderr(), "HTTP %d\n", a.Status)
	a.Header.Write(ts.Stderr())
	fmt.Fprintln(ts.Stdout(), a.Body)
}

func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD TARGET [-H HEADER]… [BODY]")
	}
	a, err := do(parseCall(ts, args[1:]))
	ts.Check(err)
	show(ts, a)
	if got := strconv.Itoa(a.Status); got != args[0] {
		ts.Fatalf("%s %s = %s, want %s: %s", args[1], args[2], got, args[0], a.Body)
	}
}

// within repeats a request until it has its status, and the code of its error if
// one is given behind a slash.
func within(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 || args[1] != "http" {
		ts.Fatalf("usage: within TIME http STATUS[/CODE] METHOD TARGET …")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	r, last := parseCall(ts, args[3:]), ""
	want, code, _ := strings.Cut(args[2], "/")
	for deadline := time.Now().Add(limit); ; {
		a, err := do(r)
		if err == nil && strconv.Itoa(a.Status) == want && (code == "" || a.Code == code) {
			show(ts, a)
			return
		}
		last = fmt.Sprint(a.Body, err)
		if time.Now().After(deadline) {
			ts.Fatalf("%s %s was not %s within %v: %s", args[3], args[4], args[2], limit, last)
		}
		time.Sleep(10 * time.Millisecond) // between two polls
	}
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: capture VAR FILE REGEXP")
	}
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) < 2 {
		ts.Fatalf("nothing in %s matches %s", args[1], args[2])
	}
	ts.Setenv(args[0], m[1])
}

package test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// A call is a request that a script makes.
type call struct {
	method, url string
	header      [][2]string
	body        string
	form        bool // the body's type is that of a form, as curl -d has it
}

// do makes the request and returns the response with its body.
func (c call) do() (*http.Response, string, error) {
	req, err := http.NewRequest(c.method, c.url, strings.NewReader(c.body))
	if err != nil {
		return nil, "", err
	}
	if c.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.form {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range c.header {
		req.Header.Set(h[0], h[1])
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func parseHeader(line string) ([2]string, error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return [2]string{}, fmt.Errorf("the header %q has no colon", line)
	}
	return [2]string{name, strings.TrimSpace(value)}, nil
}

// parseCall reads METHOD TARGET [-H HEADER]… [BODY].
func parseCall(ts *testscript.TestScript, args []string) call {
	if len(args) < 2 {
		ts.Fatalf("usage: http STATUS METHOD TARGET [-H HEADER]… [BODY]")
	}
	c := call{method: args[0], url: args[1]}
	if strings.HasPrefix(c.url, "/") {
		c.url = ts.Getenv("URL") + c.url
	}
	if key := ts.Getenv("KEY"); key != "" {
		c.header = append(c.header, [2]string{"Authorization", "Bearer " + key})
	}
	rest := args[2:]
	for len(rest) >= 2 && rest[0] == "-H" {
		h, err := parseHeader(rest[1])
		ts.Check(err)
		c.header, rest = append(c.header, h), rest[2:]
	}
	if len(rest) > 0 {
		c.body = rest[0]
	}
	return c
}

func show(ts *testscript.TestScript, resp *http.Response, body string) {
	fmt.Fprintf(ts.Stderr(), "HTTP %d\n", resp.StatusCode)
	resp.Header.Write(ts.Stderr())
	fmt.Fprintln(ts.Stdout(), body)
}

func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD TARGET [-H HEADER]… [BODY]")
	}
	resp, body, err := parseCall(ts, args[1:]).do()
	ts.Check(err)
	show(ts, resp, body)
	if got := strconv.Itoa(resp.StatusCode); got != args[0] {
		ts.Fatalf("%s %s = %s, want %s: %s", args[1], args[2], got, args[0], body)
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
	c, last := parseCall(ts, args[3:]), ""
	want, code, _ := strings.Cut(args[2], "/")
	for deadline := time.Now().Add(limit); ; {
		resp, body, err := c.do()
		if err == nil && strconv.Itoa(resp.StatusCode) == want && (code == "" || strings.Contains(body, `"code":"`+code+`"`)) {
			show(ts, resp, body)
			return
		}
		last = fmt.Sprint(body, err)
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

func paste(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: paste LINE")
	}
	c, err := parseCurl(args[0])
	ts.Check(err)
	resp, body, err := c.do()
	ts.Check(err)
	show(ts, resp, body)
	if resp.StatusCode >= 400 {
		ts.Fatalf("%s = %d: %s", args[0], resp.StatusCode, body)
	}
}

// pasteAll pastes the curl lines of a page that is written for the default
// address.
func pasteAll(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: paste-all FILE COUNT")
	}
	here := strings.NewReplacer("$KEY", ts.Getenv("KEY"), "http://127.0.0.1:8080", ts.Getenv("URL"))
	count := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if strings.HasPrefix(line, "curl ") {
			paste(ts, false, []string{here.Replace(strings.TrimSpace(line))})
			count++
		}
	}
	if strconv.Itoa(count) != args[1] {
		ts.Fatalf("%s has %d curl lines, want %s", args[0], count, args[1])
	}
}

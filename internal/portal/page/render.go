package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/asset"
)

// parsePages returns the templates by the name of their page, each with the layout and the parts.
func (s *Site) parsePages() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(s.functions()).ParseFS(templateFiles, "templates/layout/*.html"))
	pages := map[string]*template.Template{}
	for _, from := range []fs.FS{templateFiles, s.Templates} {
		for _, file := range asset.Must(fs.Glob(from, "templates/*.html")) {
			pages[strings.TrimSuffix(path.Base(file), ".html")] = template.Must(template.Must(layout.Clone()).ParseFS(from, file))
		}
	}
	return pages
}

// A View is what a template sees.
type View struct {
	Title, Path string // Path is the request's
	Note        string
	Limits      Refusal
	Workspace   string // "" unless signed in
	Plan, Key   string
	Write       bool   // what the page offers to do can be done
	Cannot      string // what keeps the key from doing anything, or ""
	Operator    bool
	Manage      bool   // the key may see keys and webhooks
	Events      bool   // the service keeps them
	Docs        string // the page of the reference about this one
	Body        any
}

// Link returns a link of the navigation.
func (v View) Link(title, url string) Link {
	return Link{Title: title, URL: url, Current: v.Path == url || url != "/console" && Within(url, v.Path)}
}

// Within reports whether a path is root or below.
func Within(root, path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// Render answers with a page, and returns nil. The template is executed later.
func (v *Visit) Render(status int, name, title string, body any) error {
	data := View{Title: title, Path: v.R.URL.Path, Write: v.locked() == "", Note: v.noted(), Docs: "/docs", Body: body}
	v.guest.Describe(&data)
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.answer = answer{status: status, execute: func(to io.Writer) error {
		return v.pages()[name].ExecuteTemplate(to, "layout.html", data)
	}}
	return nil
}

// An answer is a complete response. It is sent after the visit has given back everything that others may wait for.
type answer struct {
	status  int                      // 0 if there is none
	execute func(to io.Writer) error // writes body; nil if it is there
	body    []byte
}

// complete executes the template, if there is one, and compresses the result if the client accepts that.
func (a *answer) complete(w http.ResponseWriter, r *http.Request) error {
	if a.execute == nil {
		return nil
	}
	var b bytes.Buffer
	if err := a.execute(&b); err != nil {
		return err
	}
	a.execute, a.body = nil, b.Bytes()
	// No other site can ask for a page in a session's name, and each page has other tokens: its length tells nothing.
	if accept.Gzip(r.Header["Accept-Encoding"]) {
		w.Header().Set("Content-Encoding", "gzip")
		a.body = accept.Compress(a.body, accept.Small)
	}
	return nil
}

// inTurn calls do when it is the turn of the workspace to have a page made. A page takes a processor for milliseconds; without
// turns, many pages would delay all other requests. What takes longer than maxTurn goes on, and lets others have theirs.
func (v *Visit) inTurn(do func() error) error {
	if v.Session == nil {
		return do()
	}
	share, err := v.turns.Enter(v.R.Context(), fairshare.Holder{Workspace: v.guest.Workspace()}, 1, nil)
	if err != nil {
		return &petstore.Error{Code: petstore.CodeServiceUnavailable, RetryAfter: time.Second, Message: "Too many pages are asked for. Try again after a second."}
	}
	defer share.Leave()
	defer time.AfterFunc(maxTurn, share.Leave).Stop()
	return do()
}

func (v *Visit) send() {
	var err error
	if v.answer.execute != nil {
		err = v.inTurn(func() error { return v.answer.complete(v.W, v.R) })
	}
	if err != nil {
		v.fail(err)
		err = v.answer.complete(v.W, v.R)
	}
	if err != nil {
		v.Log.Error("a page could not be written", "path", v.R.URL.Path, "err", err)
	}
	if v.answer.status == 0 {
		return
	}
	if len(v.answer.body) > 0 {
		v.W.Header().Set("Content-Length", strconv.Itoa(len(v.answer.body)))
	}
	v.W.WriteHeader(v.answer.status)
	if v.R.Method != http.MethodHead && len(v.answer.body) > 0 {
		_, _ = v.W.Write(v.answer.body) // the error means that the client has disconnected
	}
}

// Redirect redirects the browser to another page of the console, with GET.
func (v *Visit) Redirect(to string) error {
	v.redirectedTo = to
	v.W.Header().Set("Location", v.At(to))
	v.answer = answer{status: http.StatusSeeOther}
	return nil
}

// Resend has the browser send the form again to another page of the console.
func (v *Visit) Resend(to string) error {
	err := v.Redirect(to)
	v.answer.status = http.StatusTemporaryRedirect
	return err
}

// Follows reports whether the script asks again for the page that is shown.
func (v *Visit) Follows() bool { return v.R.Header.Get("Petstore-Live") != "" }

// RenderJSON answers a script with a value.
func (v *Visit) RenderJSON(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "application/json")
	v.answer = answer{status: http.StatusOK, body: text}
	return nil
}

// Then redirects to a page, which shows said, after a change, which may be of keys: this node uses them at once. If err is not
// nil, it returns err instead.
func (v *Visit) Then(to, said string, err error) error {
	if err != nil {
		return err
	}
	v.Refresh(v.R.Context())
	v.note(said)
	return v.Redirect(to)
}

// RetryAfter has the response say after how many seconds the request may be sent again.
func (v *Visit) RetryAfter(seconds int64) {
	v.W.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
}

// WholeSeconds returns d in seconds, rounded up.
func WholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Refuse answers with a page that says why there is no other, and returns ErrRefused.
func (v *Visit) Refuse(status int, title, text string) error {
	_ = v.Render(status, "refused", title, Refusal{Title: title, Text: text})
	return ErrRefused
}

// busy is the answer of a busy service. It has no layout: whoever waits for a processor is not helped by pages that say so.
func busy(why string) answer {
	const title = "The service is busy"
	return answer{status: http.StatusServiceUnavailable, body: []byte("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + title + "</title><h1>" +
		title + "</h1><p>" + html.EscapeString(why) + "</p></html>\n")}
}

var errNoPage = errors.New("no such page")

// fail answers with a page that says what went wrong.
func (v *Visit) fail(err error) {
	if v.R.Context().Err() != nil && petstore.CodeOf(err) == petstore.CodeServiceUnavailable {
		panic(http.ErrAbortHandler) // the reader has gone, or gave way: no store has failed
	}
	e, ok := errors.AsType[*petstore.Error](err)
	if ok && e.Code == access.CodeWorkspaceNotFound && v.Session != nil && v.Session.KeyID != "" { // it was reset or removed since the session was checked
		e = access.Resetting()
	}
	switch {
	case errors.Is(err, errNoPage):
		_ = v.Refuse(http.StatusNotFound, "Not found", "It may have been removed.")
	case !ok:
		v.Log.Error("a page failed", "path", v.R.URL.Path, "err", err)
		_ = v.Refuse(http.StatusInternalServerError, "Something went wrong", "Try again. The cause is in the log of the service.")
	case strings.HasSuffix(string(e.Code), "_not_found"):
		_ = v.Refuse(http.StatusNotFound, "Not found", e.Message)
	case e.Code == petstore.CodeServiceUnavailable:
		v.RetryAfter(max(1, WholeSeconds(e.RetryAfter)))
		if e.Err == nil {
			v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
			v.answer = busy(e.Message)
			return
		}
		v.Log.Error("a page failed", "path", v.R.URL.Path, "err", err)
		_ = v.Refuse(http.StatusServiceUnavailable, "The store does not answer", e.Message)
	default:
		_ = v.Refuse(http.StatusUnprocessableEntity, "That is not possible", e.Message)
	}
}

// functions returns what templates can call.
func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"asset":   func(name string) (string, error) { path, err := s.assets.Path(name); return s.At(path), err },
		"at":      s.At,
		"num":     Number,
		"instant": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"utc":     utc,
		"prose":   prose,
		"short":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04") },
	}
}

// At returns where the reader's browser finds a path of ours, such as /console.
func (s *Site) At(path string) string { return s.prefix + path }

// Number returns n with commas between thousands.
func Number(n int64) string { return humanize.Comma(n) }

// Counted returns n with the word for what is counted.
func Counted(n int64, one, many string) string {
	return english.Plural(int(n), one, many)
}

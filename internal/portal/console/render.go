package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

//go:embed templates
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// parsePages returns the templates by the name of their page, each with the layout and the parts.
func parsePages(functions template.FuncMap) (map[string]*template.Template, error) {
	layout, err := template.New("layout.html").Funcs(functions).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	for _, name := range []string{"signin", "link", "refused", "overview", "installation", "workspace", "requests", "request", "list", "key", "form", "made", "sheets"} {
		t, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if pages[name], err = t.ParseFS(templateFiles, "templates/"+name+".html"); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// A view is what a template sees.
type view struct {
	Title, Path string
	Note        string
	Limits      limitNote
	Workspace   string // "" unless signed in
	Plan, Key   string
	Write       bool // what the page offers to do can be done
	Looks       bool // nothing can be done with the key
	Operator    bool
	Nav         []navGroup
	Docs        string // the page of the reference about this one
	Body        any
}

type navGroup struct {
	Title string
	Links []navLink
}

type navLink struct {
	Title, URL string
	Current    bool
}

// navLinks returns what makes the links of the navigation on the page at the path.
func navLinks(path string) func(title, url string) navLink {
	return func(title, url string) navLink {
		return navLink{title, url, path == url || url != overviewPage && within(url, path)}
	}
}

func navigation(path string, events bool) []navGroup {
	link := navLinks(path)
	groups := []navGroup{
		{"", []navLink{link("Overview", "/console"), link("Requests", "/console/requests"), link("API keys", "/console/keys")}},
		{"Pets", []navLink{link("Pets", "/console/pets"), link("Categories", "/console/categories")}},
		{"Store", []navLink{link("Orders", "/console/orders"), link("Stock", "/console/stock")}},
	}
	if events {
		groups = append(groups, navGroup{"Changes", []navLink{link("Events", "/console/events"), link("Webhooks", "/console/webhooks")}})
	}
	return groups
}

// render answers with a page.
func (v *visit) render(status int, name, title string, body any) error {
	data := view{Title: title, Path: v.r.URL.Path, Write: v.mayChange(), Note: v.noted(), Docs: docsOf(v.r.URL.Path), Body: body}
	if v.who != nil {
		data.Workspace, data.Plan, data.Key = access.Printable(v.who.Workspace.Name), string(v.who.Workspace.Plan), access.Printable(v.who.Key.Name)
		data.Limits, data.Nav = v.limits.note(), navigation(v.r.URL.Path, v.Events != nil)
		data.Looks = !v.limits.banned().IsZero() || v.who.Key.Scopes == access.Read
	}
	if v.operator {
		data.Operator, data.Workspace, data.Nav = true, "Operator", operatorNavigation(v.r.URL.Path)
	}
	pages, err := v.pages()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pages[name].ExecuteTemplate(&b, "layout.html", data); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.page = page{status, b.Bytes()}
	return nil
}

// A page is a response that is whole. It is sent when the visit holds nothing any more that others may wait for.
type page struct {
	status int // 0 if there is none
	body   []byte
}

// send sends the page.
func (v *visit) send() {
	if v.page.status == 0 {
		return
	}
	if len(v.page.body) > 0 {
		v.w.Header().Set("Content-Length", strconv.Itoa(len(v.page.body)))
	}
	v.w.WriteHeader(v.page.status)
	if v.r.Method != http.MethodHead && len(v.page.body) > 0 {
		_, _ = v.w.Write(v.page.body) // a client that is gone cannot be told
	}
}

// redirect leads on to another page of ours, with GET.
func (v *visit) redirect(to string) error {
	v.w.Header().Set("Location", v.at(to))
	v.page = page{status: http.StatusSeeOther}
	return nil
}

// renderJSON answers a script with a value.
func (v *visit) renderJSON(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.page = page{http.StatusOK, text}
	return nil
}

// done says what was done, on the page that it leads on to, unless it failed.
func (v *visit) done(to, said string, err error) error {
	if err != nil {
		return err
	}
	v.note(said)
	return v.redirect(to)
}

// changed is done for what was changed of workspaces and keys, which holds here at once.
func (v *visit) changed(to, said string, err error) error {
	if err == nil {
		v.follow()
	}
	return v.done(to, said, err)
}

// A refusal is a page that says why there is no other, and until when if that is known.
type refusal struct {
	Title, Text string
	Until       time.Time
}

func (v *visit) refuse(status int, title, text string) {
	v.refuseUntil(status, refusal{Title: title, Text: text})
}

func (v *visit) refuseUntil(status int, r refusal) {
	if !r.Until.IsZero() { // the page says it
		v.limits = keyLimits{}
	}
	if err := v.render(status, "refused", r.Title, r); err != nil {
		v.Log.Error("a page could not be rendered", "path", v.r.URL.Path, "err", err)
	}
}

var errNoPage = errors.New("no such page")

// fail answers with a page that says what went wrong.
func (v *visit) fail(err error) {
	e, ok := errors.AsType[*petstore.Error](err)
	switch {
	case errors.Is(err, errNoPage), ok && strings.HasSuffix(string(e.Code), "_not_found"):
		text := "It may have been removed."
		if ok {
			text = e.Message
		}
		v.refuse(http.StatusNotFound, "Not found", text)
	case ok && e.Code == petstore.CodeServiceUnavailable && e.Err == nil:
		v.retryAfter(max(1, wholeSeconds(e.RetryAfter)))
		v.refuse(http.StatusServiceUnavailable, "The service is busy", e.Message)
	case ok && e.Code == petstore.CodeServiceUnavailable:
		v.Log.Error("a page failed", "path", v.r.URL.Path, "err", err)
		v.retryAfter(max(1, wholeSeconds(e.RetryAfter)))
		v.refuse(http.StatusServiceUnavailable, "The store does not answer", e.Message)
	case ok:
		v.refuse(http.StatusUnprocessableEntity, "That is not possible", e.Message)
	default:
		v.Log.Error("a page failed", "path", v.r.URL.Path, "err", err)
		v.refuse(http.StatusInternalServerError, "Something went wrong", "Try again. The cause is in the log of the service.")
	}
}

// functions returns what templates can call.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"asset":   func(name string) (string, error) { path, err := c.assets.Path(name); return c.at(path), err },
		"at":      c.at,
		"num":     number,
		"instant": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"utc":     utc,
		"prose":   prose,
		"short":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04") },
		"class":   func(status int) string { return "s" + strconv.Itoa(status/100) },
		"lower":   strings.ToLower,
	}
}

// at returns where the reader's browser finds a path of ours, such as /console.
func (c *Console) at(path string) string { return c.prefix + path }

// number returns n with commas between thousands.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

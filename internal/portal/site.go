package portal

import (
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/portal/asset"
)

//go:embed templates guides
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// A site is every page of the reference, and what they share.
type site struct {
	BaseURL, Version, Title string

	described *description

	prefix string // the path of the base URL, before every link of ours; "" if it has none

	Intro   template.HTML
	Sandbox []string // the scopes of the key that a reader can get
	Sunset  time.Time
	Nav     []navGroup
	Guides  []guide

	Failures []failure

	assets  *asset.Set
	pages   map[string]*page
	search  *template.Template // its answer
	missing *template.Template // the page of what is not there
	index   func() *index
}

// A navGroup is one group of the navigation, such as Pets.
type navGroup struct {
	Name string
	Tags []navTag
}

// A navTag is one page of operations.
type navTag struct {
	Name, Title, URL, Description string
	Sections                      []section
}

// A view is what a template sees.
type view struct {
	Site        *site
	Path        string
	Title, Lead string
	Tag         *navTag
	Prev, Next  *link
	Query       string // what was searched for
	Found       []entry
	Contents    []link // of a guide
	from        string // the file of its content
}

type link struct{ Title, URL string }

// A page is rendered once, when it is first asked for.
type page struct {
	render  func() *asset.File
	content func() string // without what all pages have
	path    string
}

func newSite(d *description, opts ReferenceOptions) *site {
	intro, _, _ := strings.Cut(d.Info.Description, "\n\n")
	s := &site{
		described: d, BaseURL: opts.BaseURL, prefix: opts.prefix(), Version: opts.Version, Title: d.Info.Title, Intro: inline(intro),
		Sandbox: opts.Sandbox, Sunset: opts.Sunset.UTC(), Nav: d.navigation(opts), Guides: guides(), pages: map[string]*page{},
	}
	s.assets, s.Failures, s.index = asset.New("/docs/assets/", assetFiles), d.failures(), sync.OnceValue(s.newIndex)
	s.addPages()
	return s
}

func (d *description) navigation(opts ReferenceOptions) []navGroup {
	var groups []navGroup
	for _, g := range d.TagGroups {
		group := navGroup{Name: g.Name}
		for _, name := range g.Tags {
			group.Tags = append(group.Tags, d.navTag(name, opts))
		}
		groups = append(groups, group)
	}
	return groups
}

func (d *description) navTag(name string, opts ReferenceOptions) navTag {
	t := navTag{Name: name, Title: strings.ToUpper(name[:1]) + name[1:], URL: "/docs/" + name}
	for _, known := range d.Tags {
		if known.Name == name {
			t.Description = known.Description
		}
	}
	for _, o := range d.Operations() {
		if o.Tags[0] == name {
			s := d.section(o, opts.BaseURL, opts.Sunset)
			s.Sandbox = len(o.Scopes) > 0 && !slices.ContainsFunc(o.Scopes, func(scope string) bool { return !slices.Contains(opts.Sandbox, scope) })
			t.Sections = append(t.Sections, s)
		}
	}
	return t
}

// addPages makes the overview, the guides and a page for each tag, in the order in which they are read.
func (s *site) addPages() {
	layout := template.Must(template.New("layout.html").Funcs(s.functions()).ParseFS(templateFiles, "templates/*.html"))
	s.search, s.missing = contentOf(layout, "templates/search.html"), contentOf(layout, "templates/missing.html")
	views := []view{
		{Path: "/docs", Title: "Overview", from: "templates/overview.html"},
		{Path: guideList, Title: "Guides", Lead: "One page for each subject, with requests that you can copy and run.", from: "templates/guides.html"},
	}
	for _, g := range s.Guides {
		views = append(views, view{Path: g.URL(), Title: g.Title, Lead: g.Lead, from: "guides/" + g.Name + ".html"})
	}
	for _, g := range s.Nav {
		for i := range g.Tags {
			t := &g.Tags[i]
			views = append(views, view{Path: t.URL, Title: t.Title, Lead: t.Description, Tag: t, from: "templates/tag.html"})
		}
	}
	for i := range views {
		v := &views[i]
		v.Site = s
		if i > 0 {
			v.Prev = &link{views[i-1].Title, views[i-1].Path}
		}
		if i < len(views)-1 {
			v.Next = &link{views[i+1].Title, views[i+1].Path}
		}
		t := contentOf(layout, v.from)
		s.pages[v.Path] = &page{
			render: sync.OnceValue(func() *asset.File { return renderPage(t, v) }), content: func() string { return render(t, "content", v) }, path: v.Path,
		}
	}
}

// contentOf returns the layout with the content of a file.
func contentOf(layout *template.Template, name string) *template.Template {
	t := template.Must(layout.Clone())
	template.Must(t.New("content").Parse(string(asset.Must(templateFiles.ReadFile(name)))))
	return t
}

func renderPage(t *template.Template, v *view) *asset.File {
	if strings.HasPrefix(v.Path, guidePath) {
		v.Contents = contents(render(t, "content", v))
	}
	return asset.NewFile("text/html; charset=utf-8", []byte(render(t, "layout.html", v)))
}

func render(t *template.Template, name string, v *view) string {
	var b strings.Builder
	return asset.Must(&b, t.ExecuteTemplate(&b, name, v)).String()
}

// contents returns the headings of a page.
func contents(page string) []link {
	var list []link
	for _, m := range headPattern.FindAllStringSubmatch(page, -1) {
		list = append(list, link{plainText(m[2]), "#" + m[1]})
	}
	return list
}

// functions returns what templates can call.
func (s *site) functions() template.FuncMap {
	return template.FuncMap{
		"asset":  func(name string) (string, error) { path, err := s.assets.Path(name); return s.at(path), err },
		"at":     s.at,
		"schema": s.described.Schema, "members": s.described.members, "item": s.described.item, "type": s.described.typeName, "limits": s.described.limits,
		"plain": plain, "indented": indented, "markdown": markdown,
		"inline":   func(text string) template.HTML { return inline(strings.ReplaceAll(text, "](/", "]("+s.at("/"))) },
		"code":     func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "BASE_URL", s.BaseURL)) },
		"snippet":  func(title, lang, code string) snippet { return snippet{title, lang, code} },
		"program":  program,
		"tabs":     func(id string, list ...snippet) tabs { return tabs{id, list} },
		"path":     pathHTML,
		"lower":    strings.ToLower,
		"day":      func(t time.Time) string { return t.UTC().Format("2 January 2006") },
		"instant":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"httpDate": func(t time.Time) string { return t.UTC().Format("Mon, 02 Jan 2006 15:04:05") + " GMT" },
		"class":    func(status int) string { return fmt.Sprintf("s%d", status/100) },
	}
}

// at returns where the reader's browser finds a path of ours, such as /docs.
func (s *site) at(path string) string { return s.prefix + path }

// tabs are samples of which one is shown at a time.
type tabs struct {
	ID      string
	Samples []snippet
}

// pathHTML returns a path with its parameters marked.
func pathHTML(path string) template.HTML {
	text := template.HTMLEscapeString(path)
	return template.HTML(strings.NewReplacer("{", "<b>{", "}", "}</b>").Replace(text))
}

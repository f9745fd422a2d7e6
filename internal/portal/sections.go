package portal

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/portal/console"
)

// A section is one operation, as the reference shows it.
type section struct {
	*operation
	URL             string // of the section
	Description     template.HTML
	Ending          *ending // nil unless deprecated
	Groups          []fieldGroup
	Body            *body
	Returns         []field
	ReturnType      string
	Headers         []field  // of the answer; those of every answer are in the guides
	Answers, Common []answer // its own, and those that most operations have
	Samples         tabs
	Response        *snippet
	BodyText        string
	BodyMedia       string
	Sandbox         bool   // it can be tried out with the key of a sandbox, which a reader can get
	Console         *place // where the console does the same, nil if nowhere
}

// An ending says when a deprecated operation is removed, and what replaces it.
type ending struct {
	At        time.Time
	Successor string
	URL       string // of the successor's section
}

type fieldGroup struct {
	Title  string
	Fields []field
}

type body struct {
	Type   string
	Media  []string
	Fields []field
}

// An answer is one status of an operation.
type answer struct {
	Status      int
	Text        string
	Description template.HTML
	Codes       []string
	Examples    []snippet // of its own errors; those that every operation has are in the guide
}

// A snippet is code in a language: an answer, or a call in one of several languages.
type snippet struct {
	Title, Lang, Code string
}

// section builds the section of o. base is the address in its samples.
func (d *description) section(o *operation, base string, sunset time.Time) section {
	s := section{operation: o, URL: sectionURL(o), Description: markdown(o.Description), Samples: tabs{o.OperationID, samples(d.call(o, base))}, Console: placeOf(o)}
	if o.Deprecated {
		s.Ending = d.ending(o, sunset)
	}
	for _, g := range []struct{ in, title string }{{"path", "Path parameters"}, {"query", "Query parameters"}, {"header", "Headers"}} {
		var fields []field
		for _, p := range d.Of(o) {
			if p.In == g.in {
				fields = append(fields, d.parameterField(p))
			}
		}
		if len(fields) > 0 {
			s.Groups = append(s.Groups, fieldGroup{g.title, fields})
		}
	}
	d.addBody(&s)
	d.addAnswers(&s)
	return s
}

func sectionURL(o *operation) string { return "/docs/" + o.Tags[0] + "#" + o.OperationID }

func (d *description) ending(o *operation, sunset time.Time) *ending {
	e := &ending{At: sunset, Successor: o.Successor}
	path, _, _ := strings.Cut(o.Successor, "?")
	for _, other := range d.Operations() {
		if other.Method+" "+other.Path == path {
			e.URL = sectionURL(other)
		}
	}
	return e
}

func (d *description) addBody(s *section) {
	if s.RequestBody == nil {
		return
	}
	first := s.RequestBody.Content[0].Value
	s.Body = &body{Type: d.Schema(first.Schema).Name, Fields: d.fields(first.Schema)}
	for _, m := range s.RequestBody.Content {
		s.Body.Media = append(s.Body.Media, m.Key)
	}
	last := s.RequestBody.Content[len(s.RequestBody.Content)-1]
	s.BodyText, s.BodyMedia = indented(last.Value.Examples[0].Value.Value), last.Key
}

func (d *description) addAnswers(s *section) {
	for _, r := range s.Responses {
		a := d.answer(r.Key, r.Value)
		if a.Status >= 400 && everywhere(a.Status) {
			s.Common = append(s.Common, a)
			continue
		}
		s.Answers = append(s.Answers, a)
		if a.Status >= 300 {
			continue
		}
		s.Headers = d.headerFields(r.Value)
		s.Response = &snippet{Title: fmt.Sprint(a.Status, " ", a.Text), Lang: "http", Code: "HTTP/1.1 " + fmt.Sprint(a.Status, " ", a.Text)}
		if m, ok := d.Response(r.Value).Content.Get("application/json"); ok {
			s.Returns, s.ReturnType = d.fields(m.Schema), d.Schema(m.Schema).Name
			s.Response.Lang, s.Response.Code = "json", indented(m.Example)
		}
	}
}

// everywhere reports whether nearly every operation answers with the status, so that its example stands in the guide only.
func everywhere(status int) bool {
	return !slices.Contains([]int{400, 404, 409, 410, 412, 422}, status)
}

func (d *description) answer(status string, r *response) answer {
	r = d.Response(r)
	n, _ := strconv.Atoi(status)
	// The codes stand beside the text, so the text ends before them.
	text, _, _ := strings.Cut(r.Description, ": `")
	a := answer{Status: n, Text: http.StatusText(n), Description: inline(strings.TrimSuffix(text, ".")), Codes: r.Codes}
	if everywhere(n) {
		return a
	}
	if m, ok := r.Content.Get("application/json"); ok {
		for _, e := range m.Examples {
			a.Examples = append(a.Examples, snippet{Title: e.Key, Lang: "json", Code: indented(e.Value.Value)})
		}
	}
	return a
}

// headerFields returns the headers that the answer has besides those that every answer has.
func (d *description) headerFields(r *response) []field {
	var list []field
	for _, h := range d.Response(r).Headers {
		switch h.Key {
		case "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset":
			continue
		}
		to := api.Follow(h.Value.Ref, d.Components.Headers, h.Value)
		list = append(list, field{Name: h.Key, Type: "header", Description: inline(to.Description), Example: plain(to.Example)})
	}
	return list
}

// A place is a page of the console on which people do what an operation does.
type place struct {
	URL string
	ID  string // the parameter whose value follows the URL, "" if none does
}

// placeOf returns the place of an operation, or nil if there is none.
func placeOf(o *operation) *place {
	all := console.Subjects()
	i := slices.IndexFunc(all, func(s console.Subject) bool { return s.Tag == o.Tags[0] })
	switch {
	case i < 0:
		return nil
	case o.OperationID == all[i].Create:
		return &place{URL: all[i].Page + "/new"}
	}
	for _, id := range []string{"petId", "categoryId", "orderId"} {
		if strings.HasSuffix(o.Path, "{"+id+"}") {
			return &place{URL: all[i].Page, ID: id}
		}
	}
	return &place{URL: all[i].Page}
}

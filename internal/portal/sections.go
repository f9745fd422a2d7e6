package portal

import (
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
	URL             string   // of the section
	Ending          *ending  // nil unless deprecated
	Members         []member // its parameters
	Returns         *schema  // nil if nothing
	Headers         []member // of the answer; those of every answer are in the guides
	Answers, Common []answer // its own, and those that most operations have
	Samples         tabs
	Response        *snippet
	Sandbox         bool   // it can be tried out with the key of a sandbox, which a reader can get
	Console         *place // where the console does the same, nil if nowhere
}

// An ending says when a deprecated operation is removed, and what replaces it.
type ending struct {
	At        time.Time
	Successor string
	URL       string // of the successor's section
}

// An answer is one status of an operation. The examples are of its own errors; those that every operation has are in the
// guide.
type answer struct {
	Status      int
	Description string
	Codes       []string
	Examples    api.Ordered[*api.Example]
}

// A snippet is code in a language: an answer, or a call in one of several languages.
type snippet struct {
	Title, Lang, Code string
}

// section builds the section of o. base is the address in its samples.
func (d *description) section(o *operation, base string, sunset time.Time) section {
	s := section{operation: o, URL: sectionURL(o), Samples: tabs{o.OperationID, samples(d.call(o, base))}, Console: placeOf(o)}
	if o.Deprecated {
		s.Ending = d.ending(o, sunset)
	}
	for _, p := range d.Of(o) {
		s.Members = append(s.Members, member{p.Name, p.Description, p.Required, p.In, d.Schema(p.Schema), p.Example})
	}
	d.addAnswers(&s)
	return s
}

// Of returns the parameters in a place.
func (s section) Of(place string) []member {
	return slices.DeleteFunc(slices.Clone(s.Members), func(m member) bool { return m.In != place })
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
		title := r.Key + " " + http.StatusText(a.Status)
		s.Headers, s.Response = d.headers(r.Value), &snippet{title, "http", "HTTP/1.1 " + title}
		if m, ok := d.Response(r.Value).Content.Get("application/json"); ok {
			s.Returns = d.Schema(m.Schema)
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
	a := answer{Status: n, Description: strings.TrimSuffix(text, "."), Codes: r.Codes}
	if m, ok := r.Content.Get("application/json"); ok && !everywhere(n) {
		a.Examples = m.Examples
	}
	return a
}

// headers returns the headers that the answer has besides those that every answer has.
func (d *description) headers(r *response) (list []member) {
	for _, h := range d.Response(r).Headers {
		switch h.Key {
		case "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset":
			continue
		}
		to := api.Follow(h.Value.Ref, d.Components.Headers, h.Value)
		list = append(list, member{Name: h.Key, Description: to.Description, Schema: &schema{Type: "header"}, Example: to.Example})
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

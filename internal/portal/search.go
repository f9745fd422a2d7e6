package portal

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"example.com/petstore/internal/portal/asset"
)

// Where the search answers, and how much of it.
const (
	searchPath = "/docs/search"
	mostFound  = 50
	longest    = 200 // bytes of a question
)

// An entry is one thing that the search finds.
type entry struct {
	Title    string `json:"t"`
	Subtitle string `json:"s"`
	URL      string `json:"u"`
	Words    string `json:"w,omitempty"` // also searched, not shown
	Method   string `json:"m,omitempty"`
}

// Kind returns what the entry is: the method of an operation, "guide" or "code".
func (e entry) Kind() string {
	switch {
	case e.Method != "":
		return e.Method
	case strings.HasPrefix(e.Words, "error"):
		return "code"
	}
	return "guide"
}

// entries are what the search finds: operations, guides and error codes.
func (s *site) entries(failures []failure) []entry {
	var list []entry
	for _, g := range s.Nav {
		for _, t := range g.Tags {
			for _, o := range t.Sections {
				list = append(list, entry{Title: o.Summary, Subtitle: o.Path, URL: o.URL, Method: o.Method, Words: o.ID + " " + t.Name + " " + names(o)})
			}
		}
	}
	for _, g := range s.Guides {
		list = append(list, entry{Title: g.Title, Subtitle: g.Lead, URL: g.URL(), Words: "guide"})
	}
	for _, f := range failures {
		for _, c := range f.Codes {
			list = append(list, entry{Title: c.Code, Subtitle: c.Message, URL: guidePath + "errors#" + c.Code, Words: "error " + f.Text})
		}
	}
	return list
}

// index returns what the search finds as JSON, for the script.
func (s *site) index() []byte {
	list := slices.Clone(s.searched)
	for i := range list {
		list[i].URL = s.at(list[i].URL)
	}
	text, _ := json.Marshal(list) // strings always have a form in JSON
	return text
}

// names returns the names of the parameters and members of an operation.
func names(o section) string {
	text := ""
	for _, g := range o.Groups {
		for _, f := range g.Fields {
			text += f.Name + " "
		}
	}
	if o.Body != nil {
		for _, f := range o.Body.Fields {
			text += f.Name + " "
		}
	}
	return text
}

// find returns the entries in which every word of the question stands, the best first. The script of the pages orders
// them the same.
func find(list []entry, question string) []entry {
	words := strings.Fields(strings.ToLower(question))
	if len(words) == 0 {
		return nil
	}
	type hit struct {
		entry
		score int
	}
	var hits []hit
	for _, e := range list {
		if n := e.score(words); n > 0 {
			hits = append(hits, hit{e, n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	found := make([]entry, 0, min(len(hits), mostFound))
	for _, h := range hits[:min(len(hits), mostFound)] {
		found = append(found, h.entry)
	}
	return found
}

// score returns how well an entry answers, or 0 if a word is missing.
func (e entry) score(words []string) int {
	title := strings.ToLower(e.Title)
	shown, rest := title+" "+strings.ToLower(e.Subtitle), strings.ToLower(e.Method+" "+e.Words)
	sum := 0
	if e.Method != "" {
		sum = 2
	}
	for _, w := range words {
		switch {
		case strings.HasPrefix(title, w):
			sum += 4
		case strings.Contains(shown, w):
			sum += 3
		case strings.Contains(rest, w):
			sum++
		default:
			return 0
		}
	}
	return sum
}

// answerTo returns the page that answers a question which was sent without the script, or with the key Enter before it
// answered.
func (s *site) answerTo(question string) *page {
	question = strings.ToValidUTF8(question, "")
	if len(question) > longest {
		question = strings.ToValidUTF8(question[:longest], "")
	}
	question = strings.TrimSpace(question)
	v := &view{Site: s, Path: searchPath, Title: "Search", Lead: "Operations, guides and error codes.", Query: question, Found: find(s.searched, question)}
	return &page{render: func() (*asset.File, error) { return renderPage(s.search, v) }}
}

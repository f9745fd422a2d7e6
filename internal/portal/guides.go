package portal

import (
	"embed"
	"encoding/json"
)

const guidePath = "/docs/guides/"

// A guide is a page about one subject. Its text is guides/NAME.html.
type guide struct {
	Name, Title, Lead string
}

// URL returns the address of the guide.
func (g guide) URL() string { return guidePath + g.Name }

// guides returns the guides in the order in which they are read.
func guides() []guide {
	return []guide{
		{"first-request", "Your first request", "From nothing to a sold animal, in five requests."},
		{"keys", "Keys", "How to send one, what it may do, and how to replace it without an outage."},
		{"errors", "Errors", "One shape for all of them, and a code that never changes."},
		{"limits", "Limits and retries", "How much you may ask, how to see what is left, and how to wait."},
		{"idempotency", "Idempotency", "Repeat a POST without doing it twice."},
		{"pagination", "Lists and pages", "Walk through any list, and read only what has changed."},
		{"stock", "Stock and states", "What takes stock, what returns it, and when an animal is sold."},
		{"sunset", "Deprecation and sunset", "What ends when, and what replaces it."},
	}
}

//go:embed retry
var retryFiles embed.FS

// retrySamples returns the programs that wait and repeat; they are run by the tests.
func retrySamples() ([]sample, error) {
	list := []sample{{"sh", "curl", "retry.sh"}, {"javascript", "JavaScript", "retry.mjs"}, {"python", "Python", "retry.py"}, {"go", "Go", "main.go"}}
	for i := range list {
		text, err := retryFiles.ReadFile("retry/" + list[i].Code)
		if err != nil {
			return nil, err
		}
		list[i].Code = string(text)
	}
	return list, nil
}

// An entry is one thing that the search finds.
type entry struct {
	Title    string `json:"t"`
	Subtitle string `json:"s"`
	URL      string `json:"u"`
	Words    string `json:"w,omitempty"` // also searched, not shown
	Method   string `json:"m,omitempty"`
}

// index returns the search index as JSON: operations, guides and error codes.
func (s *site) index(failures []failure) []byte {
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
	// Strings always have a form in JSON.
	text, _ := json.Marshal(list)
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

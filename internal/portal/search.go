package portal

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
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
	Title, Subtitle, URL string

	Kind  string // the method of an operation, "guide" or "code"
	text  string // all of it in lower case, and what is searched but not shown
	score int    // of what was found
}

// An index is everything that can be found. It is read only.
type index struct {
	entries []entry
	words   map[string]bool // all that stand in them
}

// newIndex reads operations, guides by section, and error codes.
func (s *site) newIndex() *index {
	x := &index{words: map[string]bool{}}
	for _, g := range s.Nav {
		for _, t := range g.Tags {
			for _, o := range t.Sections {
				x.add(o.Summary, o.Path, o.URL, o.Method, o.OperationID+" "+t.Name+" "+s.described.words(o))
			}
		}
	}
	for _, g := range s.Guides {
		x.addGuide(g, s.pages[g.URL()].content())
	}
	for _, f := range s.Failures {
		for _, c := range f.Codes {
			x.add(c.Code, c.Message, guidePath+"errors#"+c.Code, "code", fmt.Sprint("error ", f.Status, " ", f.Text))
		}
	}
	return x
}

func (x *index) add(title, subtitle, url, kind, text string) {
	text = strings.ToLower(title + "\n" + subtitle + "\n" + kind + " " + text)
	x.entries = append(x.entries, entry{Title: title, Subtitle: subtitle, URL: url, Kind: kind, text: text})
	for _, w := range wordPattern.FindAllString(text, -1) {
		x.words[w] = true
	}
}

var (
	wordPattern = regexp.MustCompile(`[\pL\pN]+`)
	tagPattern  = regexp.MustCompile(`<[^>]*>`)
	headPattern = regexp.MustCompile(`<h2 id="([^"]+)">(.*?)</h2>`)
)

// addGuide adds a guide, and each of its sections.
func (x *index) addGuide(g guide, content string) {
	texts := headPattern.Split(content, -1)
	x.add(g.Title, g.Lead, g.URL(), "guide", plainText(texts[0]))
	for i, head := range headPattern.FindAllStringSubmatch(content, -1) {
		x.add(plainText(head[2]), g.Title, g.URL()+"#"+head[1], "guide", plainText(texts[i+1]))
	}
}

// plainText returns HTML without its tags.
func plainText(content string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tagPattern.ReplaceAllString(content, " "))), " ")
}

// words returns what is said of an operation, its parameters, members and errors.
func (d *description) words(o section) string {
	text := plainText(string(markdown(o.Description)))
	list := slices.Concat(o.Headers, o.Members)
	if o.Returns != nil {
		list = append(list, d.members(o.Returns)...)
	}
	if o.RequestBody != nil {
		list = append(list, d.members(o.RequestBody.Content[0].Value.Schema)...)
	}
	for _, m := range list {
		text += " " + m.Name + " " + plainText(string(inline(m.Description)))
	}
	for _, a := range o.Answers {
		text += " " + strings.Join(a.Codes, " ")
	}
	return text
}

// phrases are what people say in several words, and how the pages say it.
var phrases = strings.NewReplacer("sold out", "insufficient_stock", "out of stock", "insufficient_stock", "rate limiting", "limit", "log in", "sign in", "sign up", "key")

// skipped are words that a question does without.
var skipped = strings.Fields("a an and by do for how i in is my of on or the to what why with")

// synonyms are words that people use for those of the pages.
var synonyms = map[string][]string{
	"animal": {"pet"}, "product": {"pet"}, "item": {"pet"},
	"auth": {"bearer", "key"}, "authentication": {"bearer", "key"}, "authorization": {"bearer", "scope"}, "token": {"key"}, "login": {"sign in", "key"}, "permission": {"scope"},
	"backoff": {"retry", "wait"}, "retries": {"retry"}, "retrying": {"retry", "repeat"},
	"banned": {"ban"}, "blocked": {"ban"},
	"buy": {"order"}, "purchase": {"order"}, "checkout": {"order"},
	"change": {"update"}, "edit": {"update"}, "modify": {"update"}, "add": {"create"}, "new": {"create"}, "make": {"create"}, "remove": {"delete"},
	"cli":         {"command line"},
	"concurrency": {"if-match"}, "conflict": {"if-match", "409"},
	"deprecated": {"deprecation", "sunset"}, "removed": {"sunset"},
	"duplicate": {"idempotency"}, "idempotent": {"idempotency"}, "twice": {"idempotency"},
	"pagination": {"pages", "cursor"}, "paging": {"pages", "cursor"}, "paginate": {"pages", "cursor"}, "offset": {"cursor"},
	"quantity": {"stock"}, "availability": {"stock"},
	"quota": {"limit"}, "throttle": {"limit"}, "throttled": {"limit"}, "throttling": {"limit"},
	"scopes": {"scope"}, "webhooks": {"webhook"},
}

// find returns the entries that have every word of the question, or another word for
// it, the best first. A word that stands nowhere is taken for the one it was meant to
// be, if one letter is wrong.
func (x *index) find(question string) []entry {
	found := slices.Clone(x.entries)
	for i := range found {
		if kind := found[i].Kind; kind != "guide" && kind != "code" {
			found[i].score = 2 // of the same words, what can be called comes first
		}
	}
	asked := 0
	for _, w := range strings.Fields(phrases.Replace(strings.ToLower(question))) {
		if w = strings.Trim(w, `.,;:?!"'`); w == "" || slices.Contains(skipped, w) {
			continue
		}
		asked++
		meant := append([]string{x.correct(w)}, synonyms[w]...)
		found = slices.DeleteFunc(found, func(e entry) bool { return e.rank(meant) == 0 })
		for i := range found {
			found[i].score += found[i].rank(meant)
		}
	}
	if asked == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b entry) int { return b.score - a.score })
	return found[:min(len(found), mostFound)]
}

// rank returns how well an entry answers one of several words for the same, of which the first counts more: the most if
// the title begins with it, less if it stands in the title, the subtitle or the text, 0 if it stands nowhere.
func (e entry) rank(words []string) (best int) {
	for i, w := range words {
		n := 2
		switch at := strings.Index(e.text, w); {
		case at < 0:
			continue
		case at == 0:
			n = 8
		case at < len(e.Title):
			n = 6
		case at < len(e.Title)+len(e.Subtitle):
			n = 4
		}
		best = max(best, n-min(i, 1))
	}
	return best
}

// correct returns the word, or, if it stands nowhere, the first of the alphabet that
// does and differs by one letter.
func (x *index) correct(word string) string {
	const shortest = 4 // shorter words are close to too many
	if len(word) < shortest || synonyms[word] != nil || slices.ContainsFunc(x.entries, func(e entry) bool { return strings.Contains(e.text, word) }) {
		return word
	}
	meant := word
	for w := range x.words {
		if oneEdit(word, w) && (meant == word || w < meant) {
			meant = w
		}
	}
	return meant
}

// oneEdit reports whether one letter added, left out or replaced, or two that are next
// to each other exchanged, make the one word of the other.
func oneEdit(a, b string) bool {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	without := func(word string) string { return word[min(1, len(word)):] }
	return a != b && (without(a) == without(b) || a == without(b) || without(a) == b) ||
		len(a) > 1 && len(b) > 1 && a[:2] == string([]byte{b[1], b[0]}) && a[2:] == b[2:]
}

// answerTo returns the page that answers a question. The script shows the first of what it found below the field.
func (s *site) answerTo(raw string) *asset.File {
	asked := petstore.Shorten(strings.TrimSpace(strings.ToValidUTF8(raw, "")), longest)
	v := &view{Site: s, Path: searchPath, Title: "Search", Lead: "Operations, guides and error codes.", Query: asked, Found: s.index().find(asked)}
	return renderPage(s.search, v)
}

package portal

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"

	"example.com/petstore/internal/portal/asset"
)

var (
	codeMarks = regexp.MustCompile("`([^`]+)`")
	linkMarks = regexp.MustCompile(`\[([^\]]+)\]\((/[^)\s]*|https://[^)\s]*)\)`)
)

// inline returns one paragraph of Markdown as HTML: text, `code` and links to this site or to https. Everything else is text.
func inline(text string) template.HTML {
	text = codeMarks.ReplaceAllString(template.HTMLEscapeString(text), "<code>$1</code>")
	return template.HTML(linkMarks.ReplaceAllString(text, `<a href="$2">$1</a>`))
}

// markdown returns the paragraphs of a description as HTML.
func markdown(text string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if block = strings.TrimSpace(block); block != "" {
			b.WriteString("<p>" + string(inline(block)) + "</p>")
		}
	}
	return template.HTML(b.String())
}

// contentsPath lists all pages for programs that read them (llmstxt.org).
const contentsPath = "/llms.txt"

// onlyOnScreen is what a text has no use for: what needs the script, is pressed, or leads to where one is.
var onlyOnScreen = regexp.MustCompile(`(?s)<details class="try".*?</form>.*?</details>|<div class="bar" role="radiogroup".*?</div>|<p class="eyebrow">.*?</p>`)

// ownHeading is a heading that is a link to itself.
var ownHeading = regexp.MustCompile(`(<h2[^>]*>)<a href="#[^"]*">(.*?)</a>`)

// markdown returns a page as Markdown.
func (p *page) markdown(s *site) *asset.File {
	content := ownHeading.ReplaceAllString(onlyOnScreen.ReplaceAllString(p.content(), ""), "$1$2")
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), tables.NewTablePlugin()))
	content = strings.ReplaceAll(content, `href="#`, `href="`+s.at(p.path)+`#`)
	text := asset.Must(c.ConvertString(content, converter.WithDomain(s.BaseURL)))
	return asset.NewFile("text/markdown; charset=utf-8", []byte(text+"\n"))
}

// listContents returns the list of all pages.
func (s *site) listContents() *asset.File {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n\n", s.Title, plainText(string(s.Intro)))
	fmt.Fprintf(&b, "The API is at %s. Its OpenAPI description: [JSON](%[1]s/openapi.json), [YAML](%[1]s/openapi.yaml).\n", s.BaseURL)
	item := func(title, path, text string) { fmt.Fprintf(&b, "- [%s](%s%s.md): %s\n", title, s.BaseURL, path, text) }
	b.WriteString("\n## Guides\n\n")
	for _, g := range s.Guides {
		item(g.Title, g.URL(), g.Lead)
	}
	b.WriteString("\n## Operations\n\n")
	for _, g := range s.Nav {
		for _, t := range g.Tags {
			item(t.Title, t.URL, t.Description)
		}
	}
	return asset.NewFile("text/plain; charset=utf-8", []byte(b.String()))
}

package portal

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"

	"example.com/petstore/internal/portal/asset"
)

// contentsPath lists all pages for programs that read them (llmstxt.org).
const contentsPath = "/llms.txt"

// onlyOnScreen is what a text has no use for: what needs the script, is pressed, or leads to where one is.
var onlyOnScreen = regexp.MustCompile(`(?s)<details class="try".*?</form>.*?</details>|<div class="bar" role="radiogroup".*?</div>|<p class="eyebrow">.*?</p>`)

// ownHeading is a heading that is a link to itself.
var ownHeading = regexp.MustCompile(`(<h2[^>]*>)<a href="#[^"]*">(.*?)</a>`)

// markdown returns a page as Markdown.
func (p *page) markdown(s *site) (*asset.File, error) {
	content, err := p.content()
	if err != nil {
		return nil, err
	}
	content = ownHeading.ReplaceAllString(onlyOnScreen.ReplaceAllString(content, ""), "$1$2")
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), tables.NewTablePlugin()))
	content = strings.ReplaceAll(content, `href="#`, `href="`+s.at(p.path)+`#`)
	text, err := c.ConvertString(content, converter.WithDomain(s.BaseURL))
	if err != nil {
		return nil, fmt.Errorf("%s as Markdown: %w", p.path, err)
	}
	return asset.NewFile("text/markdown; charset=utf-8", []byte(text+"\n")), nil
}

// listContents returns the list of all pages.
func (s *site) listContents() (*asset.File, error) {
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
	return asset.NewFile("text/plain; charset=utf-8", []byte(b.String())), nil
}

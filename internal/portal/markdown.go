package portal

import (
	"html/template"
	"regexp"
	"strings"
)

var inlineMarks = regexp.MustCompile("`([^`]+)`|\\[([^\\]]+)\\]\\((/[^)\\s]*|https://[^)\\s]*)\\)")

// inline returns one paragraph of Markdown as HTML: text, `code` and links to this site or to https. Everything else is text.
func inline(text string) template.HTML {
	var b strings.Builder
	at := 0
	for _, m := range inlineMarks.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(template.HTMLEscapeString(text[at:m[0]]))
		if m[2] >= 0 {
			b.WriteString("<code>" + template.HTMLEscapeString(text[m[2]:m[3]]) + "</code>")
		} else {
			b.WriteString(`<a href="` + template.HTMLEscapeString(text[m[6]:m[7]]) + `">` + template.HTMLEscapeString(text[m[4]:m[5]]) + "</a>")
		}
		at = m[1]
	}
	b.WriteString(template.HTMLEscapeString(text[at:]))
	return template.HTML(b.String())
}

// markdown returns the subset of Markdown that the description uses as HTML: paragraphs, headings of the second level and tables.
func markdown(text string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		block = strings.TrimSpace(block)
		switch {
		case block == "":
		case strings.HasPrefix(block, "## "):
			b.WriteString("<h2>" + string(inline(block[3:])) + "</h2>")
		case strings.HasPrefix(block, "|"):
			b.WriteString(table(block))
		default:
			b.WriteString("<p>" + string(inline(block)) + "</p>")
		}
	}
	return template.HTML(b.String())
}

// table returns a pipe table: a head, a rule, then rows. Where it is too wide, the keys
// move it.
func table(block string) string {
	var b strings.Builder
	b.WriteString(`<div class="scroll" tabindex="0"><table>`)
	for i, line := range strings.Split(block, "\n") {
		cell := "td"
		switch i {
		case 0:
			cell = "th"
		case 1:
			continue
		}
		b.WriteString("<tr>")
		for text := range strings.SplitSeq(strings.Trim(line, "| "), "|") {
			b.WriteString("<" + cell + ">" + string(inline(strings.TrimSpace(text))) + "</" + cell + ">")
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table></div>")
	return b.String()
}

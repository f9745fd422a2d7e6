package portal

import (
	"html/template"
	"regexp"
	"strings"
)

// A grammar finds the tokens of a language. Each group of the pattern is one of the kinds, which are the classes of their spans:
// c of a comment, s of a string, p of a key, n of a number, k of a word.
type grammar struct {
	pattern *regexp.Regexp
	kinds   string
}

const (
	quoted  = `"(?:[^"\\]|\\.)*"`
	single  = `'(?:[^'\\]|\\.)*'`
	numbers = `\b\d+(?:\.\d+)?\b`
)

// grammars returns the languages that the reference shows, by the name that their blocks carry.
func grammars() map[string]grammar {
	code := func(comment, strings, words string) grammar {
		return grammar{regexp.MustCompile(`(` + comment + `)|(` + strings + `)|\b(` + words + `)\b|(` + numbers + `)`), "cskn"}
	}
	return map[string]grammar{
		"json": {regexp.MustCompile(`(` + quoted + `)\s*:|(` + quoted + `)|\b(true|false|null)\b|(-?` + numbers + `)`), "pskn"},
		"http": {regexp.MustCompile(`(?m)^([A-Za-z-]+):|(` + quoted + `)|^(HTTP/[\d.]+ .*)$`), "psk"},
		"sh":   code(`(?m:(?:^|\s)#.*$)`, quoted+`|`+single, `curl|if|then|elif|else|fi|for|do|done|while|case|esac|in|function|local|return|exit|export|until|break`),
		"javascript": code(`//.*`, quoted+`|`+single+"|`[^`]*`",
			`const|let|await|async|function|if|else|for|of|in|while|return|throw|new|try|catch|import|from|export|continue|break|true|false|null|undefined`),
		"python": code(`#.*`, `[fr]?`+quoted+`|[fr]?`+single,
			`import|from|as|def|return|if|elif|else|for|in|while|try|except|raise|with|not|and|or|is|None|True|False|lambda|continue|break`),
		"go": code(`//.*`, quoted+"|`[^`]*`|"+single,
			`package|import|func|return|if|else|for|range|var|const|type|struct|defer|switch|case|default|nil|true|false|break|continue|go|map|chan|select`),
	}
}

// A highlighter colours code. It is safe for concurrent use.
type highlighter map[string]grammar

// inText escapes what stands in the text of an element. Quotes need none there, and code is full of them.
var inText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// html returns src, escaped, with its tokens in spans. A language that it does not know has no tokens.
func (h highlighter) html(lang, src string) template.HTML {
	var b strings.Builder
	at := 0
	g, ok := h[lang]
	if ok {
		for _, m := range g.pattern.FindAllStringSubmatchIndex(src, -1) {
			for i, kind := range g.kinds {
				from, to := m[2*i+2], m[2*i+3]
				if from < at || from == to {
					continue
				}
				b.WriteString(inText.Replace(src[at:from]))
				b.WriteString(`<span class="` + string(kind) + `">` + inText.Replace(src[from:to]) + `</span>`)
				at = to
			}
		}
	}
	b.WriteString(inText.Replace(src[at:]))
	return template.HTML(b.String())
}

package interchange

import "strings"

// ByteOrderMark is at the beginning of CSV that is written, so that spreadsheets read it as UTF-8. Files
// that are read may begin with it.
const ByteOrderMark = "\xef\xbb\xbf"

// Escape returns text for a cell that no spreadsheet takes for a formula: it puts an apostrophe before what looks
// like one, at the start and after each character that spreadsheets of some countries take for a separator. Unescape
// undoes it.
func Escape(text string) string {
	if !mayHaveFormula(text) {
		return text
	}
	return eachPart(text, func(part string) string {
		if beginsFormula(part) {
			return "'" + part
		}
		return part
	})
}

// Unescape returns the text that Escape was given.
func Unescape(cell string) string {
	if strings.IndexByte(cell, '\'') < 0 {
		return cell
	}
	return eachPart(cell, func(part string) string {
		if rest, ok := strings.CutPrefix(part, "'"); ok && beginsFormula(rest) {
			return rest
		}
		return part
	})
}

// mayHaveFormula reports whether a text has a byte with which a formula may begin.
func mayHaveFormula(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case '=', '+', '-', '@', "＝"[0]:
			return true
		}
	}
	return false
}

const (
	formulas   = "=+-@＝＋－＠"
	separators = ",;|\t\r\n"
)

// beginsFormula reports whether a part looks like a formula after leading quotation marks and
// apostrophes.
func beginsFormula(part string) bool {
	return strings.IndexAny(strings.TrimLeft(part, `"'`), formulas) == 0
}

// eachPart returns text with f applied to each part between separators.
func eachPart(text string, f func(string) string) string {
	at := strings.IndexAny(text, separators)
	if at < 0 {
		return f(text)
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexAny(text, separators) {
		b.WriteString(f(text[:at]))
		b.WriteByte(text[at])
		text = text[at+1:]
	}
	b.WriteString(f(text))
	return b.String()
}

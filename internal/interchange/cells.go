package interchange

import (
	"regexp"
	"strings"
)

// ByteOrderMark is at the beginning of CSV that is written, so that spreadsheets read it as UTF-8. Files
// that are read may begin with it.
const ByteOrderMark = "\xef\xbb\xbf"

// formulas are the characters with which a formula begins. Quotation marks and apostrophes may stand before it. A part of a
// cell begins after each character that spreadsheets of some countries take for a separator.
const formulas = "=+-@＝＋－＠"

var (
	formula        = regexp.MustCompile(`(^|[,;|\t\r\n])(["']*[=+\-@＝＋－＠])`)
	escapedFormula = regexp.MustCompile(`(^|[,;|\t\r\n])'(["']*[=+\-@＝＋－＠])`)
)

// Escape returns text for a cell that no spreadsheet takes for a formula: it puts an apostrophe before what looks
// like one, at the start and after each separator. Unescape undoes it.
func Escape(text string) string {
	if !strings.ContainsAny(text, formulas) { // most names have none
		return text
	}
	return formula.ReplaceAllString(text, "$1'$2")
}

// Unescape returns the text that Escape was given.
func Unescape(cell string) string {
	if !strings.Contains(cell, "'") {
		return cell
	}
	return escapedFormula.ReplaceAllString(cell, "$1$2")
}

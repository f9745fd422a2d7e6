package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
)

// An output is the flag -o: the form in which results are printed.
type output struct {
	forms []string
	form  string // "": the first on a terminal, the last elsewhere
}

// tables returns the usual choice: a table on a terminal, JSON elsewhere.
func tables() *output { return &output{forms: []string{"table", "json"}} }

// words returns the choice of what is printed in words everywhere, unless JSON is asked for.
func words() *output { return &output{forms: []string{"table", "json"}, form: "table"} }

func (o *output) register(flags *pflag.FlagSet) {
	usual := o.form
	if usual == "" {
		usual = fmt.Sprintf("%s on a terminal, else %s", o.forms[0], o.forms[len(o.forms)-1])
	}
	flags.VarP(config.Word(&o.form, o.forms...), "output", "o", fmt.Sprintf("print as `FORM`: %s (default %s)", strings.Join(o.forms, " or "), usual))
	config.FromEnvironment(flags, "output")
}

// chosen returns the form to print.
func (a *app) chosen() string {
	o := a.output
	switch {
	case o.form != "":
		return o.form
	case terminal(a.out):
		return o.forms[0]
	}
	return o.forms[len(o.forms)-1]
}

// print writes v as JSON, or the table.
func (a *app) print(v any, table rows) error {
	if a.chosen() == "json" {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	return a.table(table)
}

// printLine writes v as JSON in one line, or the text.
func (a *app) printLine(v any, text string) error {
	if a.chosen() == "json" {
		e := json.NewEncoder(a.out)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	_, err := fmt.Fprintln(a.out, access.Printable(text))
	return err
}

// printDone prints v as JSON, or else in words what was done.
func (a *app) printDone(v any, did string, args ...any) error {
	return a.print(v, rows{{fmt.Sprintf(did, args...)}})
}

// printSecret prints v with the columns, and its member secret for the one time that it is known.
func (a *app) printSecret(v any, secret, columns string) error {
	known := tableOf(v, "id,"+secret)
	if err := a.print(v, append(tableOf(v, columns), nil, known[1][1:])); err != nil {
		return fmt.Errorf("%s is stored, but its %s could not be printed and is lost: %w", known[0][1], secret, err)
	}
	fmt.Fprintf(a.err, "petstore: keep the %s: it is not shown again\n", secret)
	return nil
}

// rows are a table, line by line.
type rows [][]string

// tableOf returns a list of objects as a table with a line for each, or an object with a line for each column. The columns
// are members in JSON, such as key.name, in some cases with a title, and are separated by commas.
func tableOf(v any, columns string) rows {
	text, _ := json.Marshal(v) // what is no JSON has no lines
	list := bytes.HasPrefix(text, []byte("["))
	all := []json.RawMessage{text}
	if list {
		_ = json.Unmarshal(text, &all)
	}
	table := make(rows, 1+len(all))
	for column := range strings.SplitSeq(columns, ",") {
		path, title, given := strings.Cut(column, "=")
		if !given {
			title = strings.ToUpper(label(path))
		}
		table[0] = append(table[0], title)
		for i, one := range all {
			table[i+1] = append(table[i+1], cell(one, path))
		}
	}
	if list {
		return table
	}
	details := make(rows, len(table[0]))
	for i, title := range table[0] {
		details[i] = []string{title, table[1][i]}
	}
	return details
}

// whenMissing is what a table shows for a member that is missing.
var whenMissing = map[string]string{
	"appliedAt": "no", "expiresAt": "never", "lastUsedAt": "never", "bannedUntil": "-", "failingSince": "-", "nextTryAt": "-", "types": "all", "status": "none", "answer": "-", "error": "-",
}

// cell returns a member of an object for a table: an instant in words, of a text the first line, of a list all elements.
func cell(value json.RawMessage, path string) string {
	var name string
	for name = range strings.SplitSeq(path, ".") {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(value, &members) // what is no object has none
		value = members[name]
	}
	var text string
	var list []string
	switch {
	case value == nil || string(value) == "null":
		return whenMissing[name]
	case json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ",")
	case json.Unmarshal(value, &text) != nil:
		if seconds, err := strconv.ParseInt(string(value), 10, 64); err == nil && name == "reset" { // of Unix time, as the header has them
			return moment(time.Unix(seconds, 0))
		}
		return string(value)
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return moment(t)
	}
	text, _, _ = strings.Cut(text, "\n")
	if name == "prefix" { // of a key or a token
		text += "…"
	}
	return text
}

// table writes cells as they can be seen: what stands in one does nothing to a
// terminal, or to the cells beside it.
func (a *app) table(r rows) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, cells := range r {
		for i, c := range cells {
			cells[i] = access.Printable(c)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t")) // Flush returns the error
	}
	return w.Flush()
}

// moment returns t for a table.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

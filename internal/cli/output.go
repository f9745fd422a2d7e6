package cli

import (
	"encoding/json"
	"fmt"
	"slices"
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
	flags.VarPF(o, "output", "o", fmt.Sprintf("print as `FORM`: %s (default %s)", strings.Join(o.forms, " or "), usual)).DefValue = ""
	config.FromEnvironment(flags, "output")
}

// Type implements pflag.Value.
func (o *output) Type() string { return "form" }

// String implements pflag.Value.
func (o *output) String() string { return o.form }

// Set implements pflag.Value.
func (o *output) Set(s string) error {
	if !slices.Contains(o.forms, s) {
		return fmt.Errorf("must be %s", strings.Join(o.forms, " or "))
	}
	o.form = s
	return nil
}

// Words implements worded.
func (o *output) Words() []string { return o.forms }

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

// printDone prints v as JSON, or else in words what was done.
func (a *app) printDone(v any, did string, args ...any) error {
	return a.print(v, rows{{fmt.Sprintf(did, args...)}})
}

// printSecret prints v, which has the secret of the resource with the id, for
// the one time that it is known.
func (a *app) printSecret(secret, id string, v any, table rows) error {
	if err := a.print(v, table); err != nil {
		return fmt.Errorf("%s is stored, but its %s could not be printed and is lost: %w", id, secret, err)
	}
	fmt.Fprintf(a.err, "petstore: keep the %s: it is not shown again\n", secret)
	return nil
}

// rows are a table, line by line.
type rows [][]string

// tableOf returns a table with a line for each of all. The titles are separated by commas.
func tableOf[T any](titles string, all []T, line func(T) []string) rows {
	r := rows{strings.Split(titles, ",")}
	for _, one := range all {
		r = append(r, line(one))
	}
	return r
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

// commas returns words for a table.
func commas[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, word := range all {
		words[i] = string(word)
	}
	return strings.Join(words, ",")
}

// moment returns t for a table: none for no instant.
func moment(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format("2006-01-02 15:04:05 MST")
}

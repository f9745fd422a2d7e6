package page

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
)

// A Form is a page about one thing: the form that changes it, facts, and tables. Without Submit it has no form.
type Form struct {
	Title, Lead string
	Heading     string // of the form itself, where a page has several
	Action      string // where it is sent; "" is the page's own address
	Fields      []Field
	Submit      string // what the button says
	Danger      bool   // it destroys something
	Upload      bool   // it sends a file
	Said        string // what was found out by sending it
	Notes       []string
	Faults      []string
	Error       string // what was wrong with no field in particular
	Back        Link
	Links       []Link // what else can be done
	Alert       string // what has to be seen first, or ""
	Locked      string // why nothing can be sent, or ""
	Always      bool   // it can be sent whatever else cannot
	Once        string // its token
	changed     bool   // somebody changed meanwhile what it edits

	State  *Cell  // how the thing stands, beside its title
	Acts   []Form // small forms beside that, which open when they are wanted
	Beside []Form // other forms of the page
	Facts  []Fact
	Chart  *Chart // above the tables
	Sheets []List
	Code   Snippet // below the tables, unless it is empty
	Wide   bool    // the tables have the page's whole width
	Below  bool    // the form stands below the tables
	Live   bool    // the script keeps the facts and tables up to date

	Send func(*Input) error // does what it asks for, and answers; what an error finds wrong is shown on the form
}

// A Snippet is code to look at and to copy.
type Snippet struct{ Title, Text, Hint string }

// Show shows a form.
func (v *Visit) Show(status int, f Form) error {
	for i := range f.Beside {
		f.Beside[i] = v.Ready(f.Beside[i])
	}
	return v.Render(status, "form", f.Title, v.Ready(f))
}

// take calls Send for a form that was sent, or shows it again with its faults.
func (v *Visit) take(f Form) error {
	in := &Input{Form: f, R: v.R, Faults: map[string]string{}}
	if in.check(); v.oldForm {
		in.Form.Error = oldForm
	}
	if v.oldForm || len(in.Faults) > 0 {
		return v.Again(in)
	}
	if err := f.Send(in); err == nil || in.note(err) != nil {
		return err
	}
	return v.Again(in)
}

// Again shows a form again, with what was entered and its faults.
func (v *Visit) Again(in *Input) error {
	in.refill()
	return v.Show(http.StatusUnprocessableEntity, in.Form)
}

// A Link leads to a page.
type Link struct {
	Title, URL string
	Danger     bool
	Current    bool // it leads to the page that is shown
}

// A Fact is something to know beside a form.
type Fact struct {
	Title string
	Cell
}

// A Field is one input of a form or a filter.
type Field struct {
	Name, Label, Hint string
	Kind              string // "text", "number", "select", "textarea", "checks", "radios", "time", "hidden", "pick" for a text with options to pick from; of a filter "date" or "last", its last day
	Value             string
	At                time.Time // of a day that a script sent: when it begins, or ends
	Options           []Option
	Find              string // where a script asks for options while somebody types
	Sum               *int64 // what the number is added to: a script shows what comes of it
	Required, Filter  bool
	Max               int // characters
	Error             string
	Now, Entered      string // what stands there now and what was entered, if somebody changed it meanwhile
}

// An Option is one value to choose.
type Option struct {
	Value, Label string
	Chosen       bool
}

// OptionsOf returns an option for each value, which is also its label, after one for none of them.
func OptionsOf[T ~string](none string, values ...T) []Option {
	all := []Option{{Label: none}}
	for _, v := range values {
		all = append(all, Option{Value: string(v), Label: string(v)})
	}
	return all
}

// Choose marks the options that were chosen.
func Choose(options []Option, values ...string) []Option {
	for i := range options {
		options[i].Chosen = options[i].Chosen || slices.Contains(values, options[i].Value)
	}
	return options
}

// An Input is a form as it was sent, and what is wrong with it.
type Input struct {
	Form   Form
	R      *http.Request
	Faults map[string]string // by the names of fields
}

// Text returns a value without the line breaks that a browser may put into it.
func (in *Input) Text(name string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(in.R.PostForm.Get(name))
}

// check notes faults of fields whose values do not match their kind. A form with a file was not
// read yet.
func (in *Input) check() {
	if in.Form.Upload {
		return
	}
	for _, f := range in.Form.Fields {
		if why := f.fault(in.value(f.Name)); why != "" {
			in.Faults[f.Name] = why
		}
	}
}

// fault says why a value does not match the kind of the field, or returns "".
func (f *Field) fault(value string) string {
	if f.Kind == "select" && !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == value }) {
		return fmt.Sprintf("There is no choice %q.", petstore.Shorten(value, 40))
	}
	if value == "" && !f.Required {
		return ""
	}
	if _, err := strconv.ParseInt(value, 10, 64); f.Kind == "number" && err != nil {
		return "Enter a whole number."
	}
	if _, ok := instantIn(value); f.Kind == "time" && !ok {
		return "Enter a time such as 2026-03-01T12:00."
	}
	return ""
}

// FieldError is the error for a field of a form.
func FieldError(name, message string) error {
	return petstore.Invalid([]petstore.Field{{Pointer: "/" + name, Code: petstore.InvalidFormat, Message: message}})
}

// value returns a value without the spaces around it.
func (in *Input) value(name string) string { return strings.TrimSpace(in.R.PostForm.Get(name)) }

// Number returns a whole number, 0 if none was entered.
func (in *Input) Number(name string) int64 {
	n, _ := strconv.ParseInt(in.value(name), 10, 64) // check has checked it
	return n
}

// Hours returns the duration of so many hours.
func (in *Input) Hours(name string) time.Duration { return time.Duration(in.Number(name)) * time.Hour }

// Instant returns a time, or none if none was entered.
func (in *Input) Instant(name string) petstore.Time {
	t, _ := instantIn(in.value(name)) // check has checked it
	return t
}

// Condition holds as long as the edited row is as the form showed it.
func (in *Input) Condition() petstore.Condition {
	if version := in.R.PostForm.Get("version"); version != "" {
		return petstore.Condition{IfMatch: &petstore.TagSet{Tags: []petstore.Tag{petstore.Tag(version)}}}
	}
	return petstore.Condition{}
}

// note notes the faults of an error, and returns the error if a form cannot show it.
func (in *Input) note(err error) error {
	e, ok := errors.AsType[*petstore.Error](err)
	if !ok || e.Code == petstore.CodeServiceUnavailable || strings.HasSuffix(string(e.Code), "_not_found") {
		return err
	}
	for _, fault := range e.Fields {
		name, _, _ := strings.Cut(strings.TrimPrefix(fault.Pointer, "/"), "/") // of a member of a list, the list
		in.Faults[name] = fault.Message
	}
	switch {
	case e.Code == petstore.CodePreconditionFailed:
		in.Form.changed, in.Form.Error = true, "Somebody changed this meanwhile. Nothing was saved. To do it all the same, send the form again."
	case len(e.Fields) == 0:
		in.Form.Error = e.Message
	}
	return nil
}

// refill sets the values of the form to what was entered. If somebody changed the row meanwhile, it says what stands there
// now; the form has the version of that.
func (in *Input) refill() {
	f := &in.Form
	for i := range f.Fields {
		field, now := &f.Fields[i], f.Fields[i].shown()
		field.Error = in.Faults[field.Name]
		switch field.Kind {
		case "hidden": // what stands now
		case "select", "checks", "radios":
			for j := range field.Options {
				field.Options[j].Chosen = slices.Contains(in.R.PostForm[field.Name], field.Options[j].Value)
			}
		case "time":
			field.Value = entered(in.R.PostForm.Get(field.Name))
		default:
			field.Value = petstore.Shorten(in.R.PostForm.Get(field.Name), maxShown(field))
		}
		if field.Error != "" && field.Kind == "hidden" {
			f.Error = field.Error
		}
		if entered := field.shown(); f.changed && entered != now {
			field.Now, field.Entered = cmp.Or(now, "nothing"), cmp.Or(entered, "nothing")
		}
	}
}

// maxShown returns how many bytes of what was entered are shown again: all that the field can have.
func maxShown(f *Field) int { return utf8.UTFMax * max(f.Max, 500) }

// shown returns the value of a field in the form in which it is displayed.
func (f *Field) shown() string {
	if f.Kind == "hidden" {
		return ""
	}
	var chosen []string
	for _, o := range f.Options {
		if o.Chosen {
			chosen = append(chosen, o.Label)
		}
	}
	if f.Kind == "select" && len(chosen) == 0 && len(f.Options) > 0 {
		return f.Options[0].Label
	}
	if len(f.Options) > 0 && f.Kind != "pick" {
		return strings.Join(chosen, ", ")
	}
	if t, err := time.Parse(EntryLayout, f.Value); f.Kind == "time" && err == nil {
		return InWords(t)
	}
	return strings.ReplaceAll(f.Value, "\r\n", "\n")
}

// NumberOf parses an id in a path.
func NumberOf(id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 {
		return 0, errNoPage
	}
	return n, nil
}

// VersionField is the field that says what was edited.
func VersionField(row any) Field {
	return Field{Name: "version", Kind: "hidden", Value: string(petstore.TagOf(petstore.JSON(row)))}
}

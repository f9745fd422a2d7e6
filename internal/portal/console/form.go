package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A form is a page that asks for something.
type form struct {
	Title, Lead string
	Heading     string // of the form itself, where a page has several
	Action      string // where it is sent; "" is the page's own address
	Fields      []field
	Submit      string // what the button says
	Danger      bool   // it destroys something
	Upload      bool   // it sends a file
	Said        string // what was found out by sending it
	Faults      []string
	Error       string // what was wrong with no field in particular
	Back        link
	Links       []link // what else can be done
	Facts       []fact
	Locked      string // why nothing can be sent, or ""
	changed     bool   // somebody changed meanwhile what it edits

	send func(*input) error             // does what it asks for, and answers; what an error finds wrong is shown on the form
	page func(status int, f form) error // shows the page that it is part of; nil if it is a page of its own
}

// A maker makes the form of a page.
type maker func(*visit) (form, error)

// ask shows the form.
func (m maker) ask(v *visit) error {
	f, err := m(v)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, f)
}

// take does what the form was sent for, or shows it once more with what was wrong.
func (m maker) take(v *visit) error {
	f, err := m(v)
	if err != nil {
		return err
	}
	in := &input{form: f, r: v.r, faults: map[string]string{}}
	if in.check(); len(in.faults) > 0 {
		return v.again(in)
	}
	if err := f.send(in); err == nil || in.note(err) != nil {
		return err
	}
	return v.again(in)
}

// show shows a form.
func (v *visit) show(status int, f form) error {
	f.Locked = v.locked()
	if f.page != nil {
		return f.page(status, f)
	}
	return v.render(status, "form", f.Title, f)
}

// again shows a form once more, with what was entered and what was wrong with it.
func (v *visit) again(in *input) error {
	in.refill()
	return v.show(http.StatusUnprocessableEntity, in.form)
}

type link struct {
	Title  string `json:"title"`
	URL    string `json:"url"`
	Danger bool   `json:"danger,omitempty"`
}

// A fact is something to know beside a form.
type fact struct {
	Title string
	cell
}

// A field is one input of a form or a filter.
type field struct {
	Name, Label, Hint string
	Kind              string // "text", "number", "select", "textarea", "checks", "radios", "time", "hidden"; of a filter "date" or "last", its last day
	Value             string
	At                time.Time // of a day that a script sent: when it begins, or ends
	Options           []option
	Required          bool
	WithPlan          access.Plan // the plan with which alone the field counts, and is needed then
	Max               int         // characters
	Error             string
	Now, Entered      string // what stands there now and what was entered, if somebody changed it meanwhile
}

type option struct {
	Value, Label string
	Chosen       bool
}

// optionsOf returns an option for each value, which is also its label, after one for none of them.
func optionsOf[T ~string](none string, values ...T) []option {
	all := []option{{Label: none}}
	for _, v := range values {
		all = append(all, option{Value: string(v), Label: string(v)})
	}
	return all
}

// choose marks the options that were chosen.
func choose(options []option, values ...string) []option {
	for i := range options {
		for _, v := range values {
			options[i].Chosen = options[i].Chosen || options[i].Value == v
		}
	}
	return options
}

// An input is a form as it was sent, and what is wrong with it.
type input struct {
	form   form
	r      *http.Request
	faults map[string]string // by the names of fields
}

// text returns a value without the line breaks that a browser may put into it.
func (in *input) text(name string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(in.r.PostForm.Get(name))
}

// check notes the fields whose values are not of their kind. A form with a file is not read yet.
func (in *input) check() {
	if in.form.Upload {
		return
	}
	for _, f := range in.form.Fields {
		value := in.value(f.Name)
		if f.WithPlan != "" && in.value("plan") != string(f.WithPlan) {
			continue
		}
		switch f.Kind {
		case "number":
			if _, err := strconv.ParseInt(value, 10, 64); err != nil && (f.Required || f.WithPlan != "" || value != "") {
				in.faults[f.Name] = f.Label + " must be a whole number."
			}
		case "time":
			if _, ok := instantIn(value); !ok && value != "" {
				in.faults[f.Name] = f.Label + " must be a time such as 2026-03-01T12:00."
			}
		case "select":
			if !slices.ContainsFunc(f.Options, func(o option) bool { return o.Value == value }) {
				in.faults[f.Name] = "Choose one of these."
			}
		}
	}
}

// wrong is the error for a field of a form.
func wrong(name, message string) error {
	return petstore.Invalid([]petstore.Field{{Pointer: "/" + name, Code: petstore.InvalidFormat, Message: message}})
}

// value returns a value without the spaces around it.
func (in *input) value(name string) string { return strings.TrimSpace(in.r.PostForm.Get(name)) }

// number returns a whole number, 0 if none was entered.
func (in *input) number(name string) int64 {
	n, _ := strconv.ParseInt(in.value(name), 10, 64) // it was checked
	return n
}

// hours returns the duration of so many hours.
func (in *input) hours(name string) time.Duration { return time.Duration(in.number(name)) * time.Hour }

// instant returns a time, or none if none was entered.
func (in *input) instant(name string) petstore.Time {
	t, _ := instantIn(in.value(name)) // it was checked
	return t
}

// overwrite is the field whose value is the version that somebody else left, for those who have seen it.
const overwrite = "overwrite"

// condition holds as long as what was edited is still what the form showed.
func (in *input) condition() petstore.Condition {
	if version := cmp.Or(in.r.PostForm.Get(overwrite), in.r.PostForm.Get("version")); version != "" {
		return petstore.Condition{IfMatch: &petstore.TagSet{Tags: []petstore.Tag{petstore.Tag(version)}}}
	}
	return petstore.Condition{}
}

// note notes the faults that an error names, and returns the error if it is none that a form can show.
func (in *input) note(err error) error {
	e, ok := errors.AsType[*petstore.Error](err)
	if !ok || e.Code == petstore.CodeServiceUnavailable || strings.HasSuffix(string(e.Code), "_not_found") {
		return err
	}
	for _, fault := range e.Fields {
		name, _, _ := strings.Cut(strings.TrimPrefix(fault.Pointer, "/"), "/") // of a member of a list, the list
		in.faults[name] = fault.Message
	}
	switch {
	case e.Code == petstore.CodePreconditionFailed:
		in.form.changed, in.form.Error = true, "Somebody changed this meanwhile. Nothing was saved."
	case len(e.Fields) == 0:
		in.form.Error = e.Message
	}
	return nil
}

// refill puts what was entered into the form.
func (in *input) refill() {
	f := &in.form
	for i := range f.Fields {
		field, now := &f.Fields[i], f.Fields[i].shown()
		field.Error = in.faults[field.Name]
		switch field.Kind {
		case "hidden": // what stands now
		case "select", "checks", "radios":
			for j := range field.Options {
				field.Options[j].Chosen = false
			}
			choose(field.Options, in.r.PostForm[field.Name]...)
		case "time":
			field.Value = entered(in.r.PostForm.Get(field.Name))
		default:
			field.Value = petstore.Shorten(in.r.PostForm.Get(field.Name), mostEntered(field))
		}
		if field.Error != "" && field.Kind == "hidden" {
			f.Error = field.Error
		}
		if entered := field.shown(); f.changed && entered != now {
			field.Now, field.Entered = cmp.Or(now, "nothing"), cmp.Or(entered, "nothing")
		}
	}
	if f.changed {
		in.askToOverwrite()
	}
}

// mostEntered returns how many bytes of what was entered are shown again: all that the field can have.
func mostEntered(f *field) int { return utf8.UTFMax * max(f.Max, 500) }

// askToOverwrite keeps the form from being saved unless who sends it has seen what somebody else changed.
func (in *input) askToOverwrite() {
	f := &in.form
	for i := range f.Fields {
		if field := &f.Fields[i]; field.Name == "version" {
			label := "I have seen what is there now: save what I entered"
			if f.Danger || len(f.Fields) == 1 {
				label = "I have seen what is there now: do it all the same"
			}
			seen := field.Value
			field.Value = in.r.PostForm.Get("version")
			f.Fields = append(f.Fields, *field)
			f.Fields[i] = fieldToOverwrite(seen, label)
			return
		}
	}
}

func fieldToOverwrite(version, label string) field {
	return field{Name: overwrite, Label: "Changed meanwhile", Kind: "checks", Options: []option{{Value: version, Label: label}}}
}

// shown returns the value of a field as people see it.
func (f *field) shown() string {
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
	if len(f.Options) > 0 {
		return strings.Join(chosen, ", ")
	}
	if t, err := time.Parse(entryLayout, f.Value); f.Kind == "time" && err == nil {
		return inWords(t)
	}
	return strings.ReplaceAll(f.Value, "\r\n", "\n")
}

// locked says why who is signed in cannot send the form of the page, or "".
func (v *visit) locked() string {
	switch {
	case !v.mayWrite():
		return "This key cannot change this."
	case !v.limits.banned().IsZero():
		return "This key is banned."
	}
	return ""
}

// mayWrite reports whether who is signed in may send the form of the page; of one that is none, whether the shop may be changed.
func (v *visit) mayWrite() bool {
	return v.operator || v.who != nil && v.who.Key.Scopes.Has(cmp.Or(v.takes, access.Write))
}

// mayChange reports whether what the page offers to do can be done now.
func (v *visit) mayChange() bool { return v.mayWrite() && v.limits.banned().IsZero() }

// number returns the id in the path.
func (v *visit) number() (int64, error) {
	n, err := strconv.ParseInt(v.id, 10, 64)
	if err != nil || n < 1 {
		return 0, errNoPage
	}
	return n, nil
}

// versionOf is the field that says what was edited.
func versionOf(row interface{ AppendJSON([]byte) []byte }) field {
	return field{Name: "version", Kind: "hidden", Value: string(petstore.TagOf(row.AppendJSON(nil)))}
}

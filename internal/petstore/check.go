package petstore

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Check brings the members into normal form and returns what is wrong with
// them.
func (n *NewPet) Check() []Field {
	var fields []Field
	fields = checkName(fields, &n.Name)
	if n.Category == nil {
		fields = checkID(fields, "/categoryId", n.CategoryID)
	} else {
		for _, f := range n.Category.Check() {
			f.Pointer = "/categoryId" // in whose place it is given
			fields = append(fields, f)
		}
	}
	if n.Status != "" {
		fields = checkStatus(fields, n.Status)
	}
	if n.Stock != nil {
		fields = append(fields, CheckQuantity(*n.Stock)...)
	}
	return fields
}

// Check brings the members into normal form and returns what is wrong with
// them.
func (p *PetPatch) Check() []Field {
	var fields []Field
	if RefuseNull(&fields, "/name", p.Name) {
		fields = checkName(fields, &p.Name.Value)
	}
	if RefuseNull(&fields, "/categoryId", p.CategoryID) {
		fields = checkID(fields, "/categoryId", p.CategoryID.Value)
	}
	if p.Status.Present && !p.Status.Null {
		fields = checkStatus(fields, p.Status.Value)
	}
	return fields
}

// Check brings the members into normal form and returns what is wrong with
// them.
func (n *NewCategory) Check() []Field {
	var fields []Field
	fields = checkName(fields, &n.Name)
	if n.Description != nil {
		description := *n.Description
		fields = CheckText(fields, "/description", &description, 0, MaxDescription)
		n.Description = &description
	}
	return fields
}

// Check brings the members into normal form and returns what is wrong with
// them.
func (p *CategoryPatch) Check() []Field {
	var fields []Field
	if RefuseNull(&fields, "/name", p.Name) {
		fields = checkName(fields, &p.Name.Value)
	}
	if p.Description.Present && !p.Description.Null {
		fields = CheckText(fields, "/description", &p.Description.Value, 0, MaxDescription)
	}
	return fields
}

// Check returns what is wrong with the members.
func (n *NewOrder) Check() []Field {
	fields := checkID(nil, "/petId", n.PetID)
	return checkRange(fields, "/quantity", n.Quantity, 1, MaxOrder)
}

// CheckQuantity returns what is wrong with a quantity of stock to set.
func CheckQuantity(quantity int64) []Field {
	return checkRange(nil, "/quantity", quantity, 0, MaxQuantity)
}

// Fold returns the form of a name in which a search without regard to case
// compares it.
//
// It is the canonical caseless form (Unicode Standard §3.13, D145) put into
// normal form C, so that a letter does not contain its base letter.
func Fold(name string) string {
	if isASCII(name) { // which the tables below would only confirm, at ten times the cost
		return strings.ToLower(name)
	}
	return foldAny(name)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func foldAny(name string) string {
	return norm.NFC.String(strings.Map(foldCherokee, cases.Fold().String(norm.NFD.String(name))))
}

// foldCherokee corrects cases.Fold, which swaps the cases of Cherokee letters
// instead of folding them to the capitals.
func foldCherokee(r rune) rune {
	if r >= 0x13a0 && unicode.Is(unicode.Cherokee, r) {
		return unicode.ToUpper(r)
	}
	return r
}

// RefuseNull reports whether the member is there to be checked, and notes the
// fault if it is null.
func RefuseNull[T any](fields *[]Field, pointer string, member Optional[T]) bool {
	if member.Present && member.Null {
		*fields = append(*fields, Field{Pointer: pointer, Code: InvalidType,
			Message: fmt.Sprintf("%s is required and cannot be null.", pointer[1:])})
	}
	return member.Present && !member.Null
}

func checkName(fields []Field, name *string) []Field {
	return CheckText(fields, "/name", name, 1, MaxName)
}

// CheckText puts *text, the member at the pointer, into Unicode normal form C. It appends a fault
// unless the text then has least to most code points and no control characters, and does
// not consist of blanks if least is not 0.
func CheckText(fields []Field, pointer string, text *string, least, most int) []Field {
	if !norm.NFC.IsNormalString(*text) {
		*text = norm.NFC.String(*text)
	}
	member := pointer[1:]
	switch n := utf8.RuneCountInString(*text); {
	case n < least:
		return append(fields, Field{Pointer: pointer, Code: TooShort,
			Message: fmt.Sprintf("%s must have at least %d character.", member, least)})
	case n > most:
		return append(fields, Field{Pointer: pointer, Code: TooLong,
			Message: fmt.Sprintf("%s must have at most %d characters; it has %d.", member, most, n)})
	case !utf8.ValidString(*text):
		return append(fields, Field{Pointer: pointer, Code: InvalidFormat,
			Message: fmt.Sprintf("%s must be valid UTF-8.", member)})
	case least > 0 && strings.TrimFunc(*text, invisible) == "":
		return append(fields, Field{Pointer: pointer, Code: InvalidFormat, Message: member + " must not be blank."})
	case strings.ContainsFunc(*text, unicode.IsControl):
		return append(fields, Field{Pointer: pointer, Code: InvalidFormat,
			Message: fmt.Sprintf("%s must not contain control characters.", member)})
	}
	return fields
}

func checkID(fields []Field, pointer string, id int64) []Field {
	if id < 1 {
		fields = append(fields, Field{Pointer: pointer, Code: OutOfRange,
			Message: fmt.Sprintf("%s must be at least 1, not %d.", pointer[1:], id)})
	}
	return fields
}

func checkRange(fields []Field, pointer string, n, least, most int64) []Field {
	if n < least || n > most {
		fields = append(fields, Field{Pointer: pointer, Code: OutOfRange,
			Message: fmt.Sprintf("%s must be between %d and %d, not %d.", pointer[1:], least, most, n)})
	}
	return fields
}

func checkStatus(fields []Field, s Status) []Field {
	if !s.Valid() {
		fields = append(fields, Field{Pointer: "/status", Code: InvalidEnum,
			Message: fmt.Sprintf("status must be one of available, pending, sold, not %.40q.", s)})
	}
	return fields
}

// invisible reports whether r shows nothing: white space, other separators and
// format characters such as U+200B.
func invisible(r rune) bool { return unicode.In(r, unicode.White_Space, unicode.Z, unicode.Cf) }

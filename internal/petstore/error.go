package petstore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A Code names a failure on the wire. Codes never change.
type Code string

// The codes of failures that the domain decides.
const (
	CodeValidationFailed      Code = "validation_failed"
	CodePetNotFound           Code = "pet_not_found"
	CodeCategoryNotFound      Code = "category_not_found"
	CodeOrderNotFound         Code = "order_not_found"
	CodeInsufficientStock     Code = "insufficient_stock"
	CodePetNotAvailable       Code = "pet_not_available"
	CodeOutOfStock            Code = "out_of_stock"
	CodePetHasOpenOrders      Code = "pet_has_open_orders"
	CodeCategoryInUse         Code = "category_in_use"
	CodeOrderCompleted        Code = "order_completed"
	CodePreconditionFailed    Code = "precondition_failed"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodeIdempotencyKeyReused  Code = "idempotency_key_reused"
	CodeEventNotFound         Code = "event_not_found"
	CodeEventsExpired         Code = "events_expired"
	CodeServiceUnavailable    Code = "service_unavailable"
)

// A FieldCode names what is wrong with one member or parameter.
type FieldCode string

// The field codes.
const (
	Required      FieldCode = "required"
	InvalidType   FieldCode = "invalid_type"
	TooShort      FieldCode = "too_short"
	TooLong       FieldCode = "too_long"
	OutOfRange    FieldCode = "out_of_range"
	InvalidFormat FieldCode = "invalid_format"
	InvalidEnum   FieldCode = "invalid_enum"
	UnknownField  FieldCode = "unknown_field"
	ReadOnly      FieldCode = "read_only"
	NotFound      FieldCode = "not_found"
)

// A Field is one fault of the input. Exactly one of Pointer (RFC 6901, into
// the body) and Parameter (of the query, the path or a header) is set.
type Field struct {
	Pointer   string
	Parameter string
	Code      FieldCode
	Message   string
}

// MarshalJSONTo writes f with the one of Pointer and Parameter that is set. The pointer to
// the whole body is "".
func (f Field) MarshalJSONTo(to *jsontext.Encoder) error {
	place, name := "pointer", f.Pointer
	if f.Parameter != "" {
		place, name = "parameter", f.Parameter
	}
	err := to.WriteToken(jsontext.BeginObject)
	for _, text := range []string{place, name, "code", string(f.Code), "message", f.Message} {
		err = cmp.Or(err, to.WriteToken(jsontext.String(text)))
	}
	return cmp.Or(err, to.WriteToken(jsontext.EndObject))
}

// An Error is a failure the caller may see.
type Error struct {
	Code       Code          // the wire value
	Message    string        // safe for the client
	Fields     []Field       // what is wrong with the input, member by member
	RetryAfter time.Duration // when trying again may help; 0 if it does not
	Err        error         // the cause, for the log only
}

// Error returns the code, the message and the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the Error in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// What an Error says of the input at most, however long that is.
const (
	MaxFields = 100 // fields
	MaxText   = 200 // bytes of what each names, and of its message
)

// Bounded returns the first MaxFields fields. It shortens their texts to MaxText
// bytes; in place of a longer pointer stands that of the member it is in.
func Bounded(fields []Field) []Field {
	fields = slices.Clone(fields[:min(len(fields), MaxFields)])
	for i := range fields {
		f := &fields[i]
		for len(f.Pointer) > MaxText {
			f.Pointer = f.Pointer[:strings.LastIndexByte(f.Pointer, '/')]
		}
		f.Parameter, f.Message = Shorten(f.Parameter, MaxText), Shorten(f.Message, MaxText)
	}
	return fields
}

// Shorten returns text if it has at most so many bytes, else its beginning with
// an ellipsis.
func Shorten(text string, most int) string {
	const ellipsis = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// Invalid returns the validation_failed error for fields, or nil if there are
// none. It lists them within bounds.
func Invalid(fields []Field) error {
	if len(fields) == 0 {
		return nil
	}
	all := len(fields)
	fields = Bounded(fields)
	message := fields[0].Message
	if all > 1 {
		message = fmt.Sprintf("%s (and %d more)", message, all-1)
	}
	return &Error{Code: CodeValidationFailed, Message: message, Fields: fields}
}

// Unavailable returns the error for a store that cannot answer now, with its
// cause for the log.
func Unavailable(cause error) *Error {
	return &Error{
		Code:       CodeServiceUnavailable,
		Message:    "The server cannot reach its database at the moment. Try again shortly.",
		RetryAfter: time.Second,
		Err:        cause,
	}
}

// NoPet returns the error for a pet that the workspace does not have.
func NoPet(id int64) *Error { return Errorf(CodePetNotFound, "There is no pet with the id %d.", id) }

// NoCategory returns the error for a category that the workspace does not have.
func NoCategory(id int64) *Error {
	return Errorf(CodeCategoryNotFound, "There is no category with the id %d.", id)
}

// NoOrder returns the error for an order that the workspace does not have.
func NoOrder(id int64) *Error {
	return Errorf(CodeOrderNotFound, "There is no order with the id %d.", id)
}

// NoEvent returns the error for an event that the workspace does not have, or not any
// more.
func NoEvent(id int64) *Error {
	return Errorf(CodeEventNotFound, "There is no event with the id %d.", id)
}

// EventsExpired returns the error for events that are not kept any more.
func EventsExpired(after, oldest int64) *Error {
	e := Errorf(CodeEventsExpired, "Some events after %d are no longer kept; the oldest that is kept has the id %d. Read the lists, then continue without after.", after, oldest)
	e.Fields = []Field{{Parameter: "after", Code: OutOfRange, Message: e.Message}}
	return e
}

// FeedEnded returns the error for a feed that a reset has ended.
func FeedEnded() *Error {
	return Errorf(CodeEventsExpired, "The workspace was reset, and nothing of before is kept. Read the lists, then continue without after.")
}

// EventsBeyond returns the error for a position behind the newest event: whoever has it
// knows another feed than this one.
func EventsBeyond(after, newest int64) *Error {
	e := Errorf(CodeEventsExpired, "There is no event %d: the newest has the id %d. Read the lists, then continue after %[2]d.", after, newest)
	e.Fields = []Field{{Parameter: "after", Code: OutOfRange, Message: e.Message}}
	return e
}

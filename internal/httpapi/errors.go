package httpapi

import (
	"strconv"
	"sync"

	"example.com/petstore/api"
	"example.com/petstore/internal/petstore"
)

// The codes of errors that this package returns itself.
const (
	codeMalformedJSON     petstore.Code = "malformed_json"
	codeInvalidParameter  petstore.Code = "invalid_parameter"
	codeInvalidCursor     petstore.Code = "invalid_cursor"
	codeMissingKey        petstore.Code = "missing_api_key"
	codeRouteNotFound     petstore.Code = "route_not_found"
	codeMethodNotAllowed  petstore.Code = "method_not_allowed"
	codeNotAcceptable     petstore.Code = "not_acceptable"
	codePayloadTooLarge   petstore.Code = "payload_too_large"
	codeURITooLong        petstore.Code = "uri_too_long"
	codeUnsupportedMedia  petstore.Code = "unsupported_media_type"
	codeHeadersTooLarge   petstore.Code = "headers_too_large"
	codeOperationSunset   petstore.Code = "operation_sunset"
	codeRateLimitExceeded petstore.Code = "rate_limit_exceeded"
	codeTooManyStreams    petstore.Code = "too_many_streams"
	codeInternalError     petstore.Code = "internal_error"
)

// The codes of errors that only the operator's API has.
const (
	codeMissingToken      petstore.Code = "missing_token"
	codeInvalidToken      petstore.Code = "invalid_token"
	codeExpiredToken      petstore.Code = "expired_token"
	CodeBackupUnavailable petstore.Code = "backup_unavailable"
)

var errMalformed = petstore.Errorf(codeInvalidParameter, "The request is not well-formed HTTP.")

var errInternal = petstore.Errorf(codeInternalError, "Something went wrong in the server. The operator can find the cause in the log, by the request id.")

// statuses returns the status of each code, as the OpenAPI description says, and
// adminStatuses those of the operator's API. The descriptions are read at the first error.
var (
	statuses      = sync.OnceValue(func() map[petstore.Code]int { return statusesOf(api.Parse()) })
	adminStatuses = sync.OnceValue(func() map[petstore.Code]int { return statusesOf(api.Parse(), api.ParseAdmin()) })
)

func statusesOf(described ...*api.Description) map[petstore.Code]int {
	all := map[petstore.Code]int{}
	for _, d := range described {
		for _, r := range d.Responses() {
			status, _ := strconv.Atoi(r.Key) // each is a number
			for _, code := range d.Response(r.Value).Codes {
				all[petstore.Code(code)] = status
			}
		}
	}
	return all
}

// challenge returns the value of WWW-Authenticate (RFC 6750 §3).
func challenge(code petstore.Code) string {
	if code == codeMissingKey || code == codeMissingToken {
		return `Bearer realm="petstore"`
	}
	return `Bearer realm="petstore", error="invalid_token"`
}

// An errorBody is an error as the schema Error describes it.
type errorBody struct {
	Code      petstore.Code    `json:"code"`
	Message   string           `json:"message"`
	Status    int              `json:"status"`
	RequestID string           `json:"requestId,omitzero"`
	Errors    []petstore.Field `json:"errors,omitempty"`
}

// badParameter returns the error for a parameter with a wrong format.
func badParameter(name, format string, args ...any) error {
	e := petstore.Errorf(codeInvalidParameter, format, args...)
	e.Fields = []petstore.Field{{Parameter: name, Code: petstore.InvalidFormat, Message: e.Message}}
	return e
}

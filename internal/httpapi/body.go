package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"example.com/petstore/internal/petstore"
)

// maxBody is the greatest length of a body in bytes.
const maxBody = 64 << 10

// checkMedia checks Content-Type and Content-Encoding.
func checkMedia(x *exchange) error {
	if x.route.body == noBody || x.route.body == optionalBody && x.r.ContentLength == 0 {
		return nil
	}
	if encoding := x.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return petstore.Errorf(codeUnsupportedMedia, "A body with Content-Encoding %.40q is not accepted; send it uncompressed.", encoding)
	}
	if types := x.r.Header["Content-Type"]; len(types) != 1 || !x.route.body.takes(types[0]) {
		return petstore.Errorf(codeUnsupportedMedia, "The Content-Type must be %s, in UTF-8.", x.route.body)
	}
	return nil
}

// String lists the media types, for errors.
func (k bodyKind) String() string {
	if k == patchBody {
		return "application/merge-patch+json or application/json"
	}
	return "application/json"
}

func (k bodyKind) takes(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" && (k != patchBody || media != "application/merge-patch+json") {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

// readBody reads the body.
func readBody(x *exchange) error {
	if x.route.body == noBody {
		return nil
	}
	if len(x.r.Header["Content-Length"]) > 1 { // only HTTP/2 allows two here, and uses the first
		return badParameter("Content-Length", "The header Content-Length may be sent once only.")
	}
	if x.r.ContentLength > maxBody {
		return errTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return errTooLarge
	}
	if err != nil {
		return &petstore.Error{Code: codeMalformedJSON, Message: "The body could not be read completely."}
	}
	if len(body) == 0 && x.route.body == optionalBody {
		body = []byte("{}")
	}
	x.body = body
	return nil
}

var errTooLarge = petstore.Errorf(codePayloadTooLarge, "The body is longer than %d bytes.", maxBody)

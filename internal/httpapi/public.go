package httpapi

import (
	"net/http"

	"example.com/petstore/internal/petstore"
)

// A document is a file that everybody may read.
type document struct {
	path, contentType string
	tag               petstore.Tag
	plain             []byte
	zipped            func() []byte
}

func newDocument(path, contentType string, body []byte) document {
	zipped := zip(body)
	return document{
		path: path, contentType: contentType, tag: petstore.TagOf(body),
		plain: body, zipped: func() []byte { return zipped },
	}
}

// getDescription answers with the OpenAPI description.
func getDescription(a *API, x *exchange) error {
	for _, d := range a.docs {
		if d.path != x.path.pattern {
			continue
		}
		return x.tagged("W/", d.tag, d.contentType, d.plain, d.zipped)
	}
	return petstore.Errorf(codeRouteNotFound, "There is nothing at this path.")
}

// getDocs hands over to the pages for people.
func getDocs(a *API, x *exchange) error {
	a.Docs.ServeHTTP(x, x.r)
	return nil
}

// console hands over to the workspace's console.
func console(a *API, x *exchange) error {
	if a.Console == nil {
		return petstore.Errorf(codeRouteNotFound, "There is nothing at this path.")
	}
	a.Console(x, x.r, &Page{x})
	return nil
}

// NotFound answers like a path that is not there. It is for the handler that
// Options.Docs is, on paths that it does not have.
func NotFound(w http.ResponseWriter, r *http.Request) {
	x, ok := w.(*exchange)
	if !ok {
		x = &exchange{w: w, r: r}
	}
	x.fail(petstore.Errorf(codeRouteNotFound, "There is nothing at this path."))
}

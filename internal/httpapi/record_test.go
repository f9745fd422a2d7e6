package httpapi_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"sync"
	"testing"
)

var recordTo = flag.String("record", "", "write every exchange of a described operation to `FILE`, as lines of JSON, for other validators")

// An exchange is a request and its answer.
type exchange struct {
	Method, URI string
	Header      http.Header
	Body        string
	Status      int
	Answer      http.Header
	AnswerBody  []byte
}

// openRecord opens the file once for all tests; the end of the process closes it.
var openRecord = sync.OnceValues(func() (*os.File, error) {
	return os.OpenFile(*recordTo, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
})

// record writes an exchange, if that is wanted.
func record(t testing.TB, req *http.Request, body string, a answer) {
	t.Helper()
	if *recordTo == "" {
		return
	}
	line, err := json.Marshal(exchange{req.Method, req.URL.RequestURI(), req.Header, body, a.status, a.header, a.body})
	must(t, err)
	f, err := openRecord()
	must(t, err)
	if _, err := f.Write(append(line, '\n')); err != nil { // in one piece: other tests write too
		t.Fatal(err)
	}
}

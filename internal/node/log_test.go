package node

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"testing"
)

// TestStandardLogger: what a library writes to the standard logger is a line of the log,
// but for what a server sends that net/http has not asked for.
// It is not parallel: there is one standard logger.
func TestStandardLogger(t *testing.T) { //nolint:paralleltest // see above
	t.Cleanup(func() {
		log.SetOutput(os.Stderr)
		log.SetFlags(log.LstdFlags)
	})
	var text bytes.Buffer
	n := &node{Options: Options{Config: settings(t), Getenv: noEnvironment, Log: &text}}
	must(t, n.openLog(t.Context()))
	log.Print("a message")
	askForLess(t)
	var line struct{ Level, Msg string }
	if err := json.Unmarshal(text.Bytes(), &line); err != nil || line.Msg != "a message" || line.Level != "INFO" {
		t.Errorf("the log has %s, %v", text.Bytes(), err)
	}
}

// askForLess asks a server that sends more than an answer, and returns when the client
// has ended the connection.
func askForLess(t *testing.T) {
	t.Helper()
	l, ended := listenLocal(t), make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.WriteString(c, "HTTP/1.1 204 x\r\n\r\nHTTP/1.1 200 more\r\n\r\n")
			_, _ = io.Copy(io.Discard, c) // until the client ends it
			_ = c.Close()
		}
		ended <- err
	}()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, LocalURL(l.Addr().String()), http.NoBody)
	must(t, err)
	if resp, err := transport.RoundTrip(req); err == nil { // else more came before the request was sent
		must(t, resp.Body.Close())
	}
	must(t, <-ended)
}

// TestLogIsPlain: what stands in a line does nothing to the terminal that shows it.
func TestLogIsPlain(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	line := "\"path\":\"/\u009b31m\u202egnp\u2066 caf\u00e9 \u20ac\"\n"
	if n, err := (&sharedWriter{w: &text}).Write([]byte(line)); n != len(line) || err != nil {
		t.Errorf("Write = %d, %v, want %d", n, err, len(line))
	}
	if want := `"path":"/\u009b31m\u202egnp\u2066 café €"` + "\n"; text.String() != want {
		t.Errorf("the log has %q, want %q", &text, want)
	}
}

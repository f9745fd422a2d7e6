package node

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"testing"
)

// TestStandardLogger: what a library writes to the standard logger is a line of the log.
// It is not parallel: there is one standard logger.
func TestStandardLogger(t *testing.T) { //nolint:paralleltest // see above
	t.Cleanup(func() {
		log.SetOutput(os.Stderr)
		log.SetFlags(log.LstdFlags)
	})
	var text bytes.Buffer
	n := &node{Options: Options{Config: settings(t), Getenv: noEnvironment, Log: &text}}
	must(t, n.openLog(t.Context()))
	log.Print("Unsolicited response")
	var line struct{ Level, Msg string }
	if err := json.Unmarshal(text.Bytes(), &line); err != nil || line.Msg != "Unsolicited response" || line.Level != "INFO" {
		t.Errorf("the log has %s, %v", text.Bytes(), err)
	}
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

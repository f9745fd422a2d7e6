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

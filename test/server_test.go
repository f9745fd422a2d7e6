package test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/test/servertest"
)

// servers are those of one script, by their names.
type servers map[string]*servertest.Server

type serversKey struct{}

func serversOf(ts *testscript.TestScript) servers { return ts.Value(serversKey{}).(servers) }

func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve NAME [FLAG…]")
	}
	options := servertest.Options{Dir: ts.MkAbs("."), Flags: args[1:]}
	if db := ts.Getenv("PETSTORE_DB"); db != "" {
		options.Env = []string{"PETSTORE_DB=" + db}
	}
	s, err := petstore.Serve(options)
	ts.Check(err)
	serversOf(ts)[args[0]] = s
	log := ts.MkAbs(args[0] + ".log")
	_ = os.Remove(log) // of a server of this name before
	ts.Check(os.Symlink(s.Log, log))
	ts.Setenv("URL", s.URL)
	ts.Setenv("OPS", s.Ops)
	ts.Setenv("ADDR", strings.TrimPrefix(s.URL, "http://"))
	ts.Setenv("OPSADDR", strings.TrimPrefix(s.Ops, "http://"))
	for name, re := range map[string]*regexp.Regexp{"KEY": regexp.MustCompile(`with the key (\S+)`), "CURL": regexp.MustCompile(`(?m)^  (curl .*)$`)} {
		if m := re.FindStringSubmatch(s.Printed()); m != nil { // of a demo
			ts.Setenv(name, m[1])
		}
	}
}

// named returns the server of a script.
func named(ts *testscript.TestScript, name string) *servertest.Server {
	s := serversOf(ts)[name]
	if s == nil {
		ts.Fatalf("there is no server %s", name)
	}
	return s
}

func signal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGKILL": syscall.SIGKILL}
	if neg || len(args) != 2 || signals[args[1]] == 0 {
		ts.Fatalf("usage: signal NAME SIGTERM|SIGINT|SIGKILL")
	}
	ts.Check(named(ts, args[0]).Cmd.Process.Signal(signals[args[1]]))
}

func waitEnd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: wait-end NAME CODE [TARGET]")
	}
	s := named(ts, args[0])
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(servertest.Patience); ; {
		select {
		case <-s.Ended:
			expectExit(ts, args[0], s.Err, args[1])
			return
		case <-late:
			ts.Fatalf("%s did not end within %v", args[0], servertest.Patience)
		case <-tick.C:
			for _, target := range args[2:] {
				_, _ = do(parseCall(ts, []string{"GET", target})) // it may be gone
			}
		}
	}
}

func end(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: end NAME SIGNAL CODE")
	}
	signal(ts, neg, args[:2])
	waitEnd(ts, neg, []string{args[0], args[2]})
}

// expectExit fails unless err, the outcome of a process, is the exit code.
func expectExit(ts *testscript.TestScript, what string, err error, code string) {
	got := 0
	if err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", what, err)
		}
		got = e.ExitCode()
	}
	if strconv.Itoa(got) != code {
		ts.Fatalf("%s ended with %d, want %s", what, got, code)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG…]")
	}
	expectExit(ts, args[1], ts.Exec(args[1], args[2:]...), args[0])
}

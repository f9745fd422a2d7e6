package test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long anything may take before a test fails.
const patience = 20 * time.Second

// A bench holds the servers of one script.
type bench struct {
	mu      sync.Mutex
	servers map[string]*server
}

type benchKey struct{}

func benchOf(ts *testscript.TestScript) *bench { return ts.Value(benchKey{}).(*bench) }

func (b *bench) killAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.servers {
		s.cmd.Process.Kill() // it may be gone
		<-s.ended
	}
}

// A server is a running "petstore serve".
type server struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone
	err   error         // of its end
}

func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve NAME [FLAG…]")
	}
	log, err := os.Create(ts.MkAbs(args[0] + ".log"))
	ts.Check(err)
	defer log.Close()
	cmd := exec.Command(bin+"/petstore", append([]string{"serve", "--addr=127.0.0.1:0", "--ops-addr=127.0.0.1:0"}, args[1:]...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME")}
	if db := ts.Getenv("PETSTORE_DB"); db != "" {
		cmd.Env = append(cmd.Env, "PETSTORE_DB="+db)
	}
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s := &server{cmd: cmd, ended: make(chan struct{})}
	b := benchOf(ts)
	b.mu.Lock()
	b.servers[args[0]] = s
	b.mu.Unlock()
	said := announcement(ts, stdout, slices.Contains(args, "--demo"))
	go func() {
		io.Copy(io.Discard, stdout)
		s.err = cmd.Wait()
		close(s.ended)
	}()
	said["OPSADDR"] = strings.TrimPrefix(said["OPS"], "http://")
	said["ADDR"] = strings.TrimPrefix(said["URL"], "http://")
	for name, value := range said {
		ts.Setenv(name, value)
	}
}

// announced says what of the announcement becomes which variable.
func announced() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"URL":  regexp.MustCompile(`^Petstore .* serves (\S+)$`),
		"OPS":  regexp.MustCompile(`^  operations +(\S+)$`),
		"KEY":  regexp.MustCompile(`with the key (\S+)`),
		"CURL": regexp.MustCompile(`^  (curl .*)$`),
		"DB":   regexp.MustCompile(`^  database +(.*)$`),
	}
}

// announcement reads what the server prints when it is ready.
func announcement(ts *testscript.TestScript, stdout io.Reader, demo bool) map[string]string {
	last := "DB"
	if demo {
		last = "CURL"
	}
	said := map[string]string{}
	lines := bufio.NewScanner(stdout)
	for said[last] == "" && lines.Scan() {
		for name, re := range announced() {
			if m := re.FindStringSubmatch(lines.Text()); m != nil {
				said[name] = m[1]
			}
		}
	}
	if said[last] == "" {
		ts.Fatalf("the server announced only %v before it ended", said)
	}
	return said
}

// named returns the server of a script.
func named(ts *testscript.TestScript, name string) *server {
	s := benchOf(ts).servers[name]
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
	ts.Check(named(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

func waitEnd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: wait-end NAME CODE [TARGET]")
	}
	s := named(ts, args[0])
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		select {
		case <-s.ended:
			expectExit(ts, args[0], s.err, args[1])
			return
		case <-late:
			ts.Fatalf("%s did not end within %v", args[0], patience)
		case <-tick.C:
			for _, target := range args[2:] {
				parseCall(ts, []string{"GET", target}).do() // it may be gone
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

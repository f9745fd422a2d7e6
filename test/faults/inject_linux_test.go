package faults

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// needStrace skips the test where the kernel lets nobody trace another process,
// as in some containers; see [servertest.Need] for where there is no strace.
func needStrace(t *testing.T) {
	t.Helper()
	servertest.Need(t, "strace", "strace")
	sleep := exec.Command("sleep", "60")
	must(t, sleep.Start())
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}()
	end, err := inject(sleep.Process.Pid, "fsync", "error=EIO")
	if err != nil && (strings.Contains(err.Error(), "not permitted") || strings.Contains(err.Error(), "not implemented")) {
		t.Skipf("SKIPPED: the kernel forbids ptrace, which faults of system calls need: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	end()
}

// inject makes the system calls of a process, a list with commas, meet a fault
// until the function that it returns is called.
func inject(pid int, calls, fault string) (end func(), err error) {
	cmd := exec.Command("strace", "-f", "-o", "/dev/null", "-e", "trace="+calls, "-e", "inject="+calls+":"+fault, "-p", fmt.Sprint(pid))
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(said)
	last := ""
	for lines.Scan() {
		if last = lines.Text(); strings.Contains(last, "attached") {
			go func() {
				for lines.Scan() { // so that strace is not held up
				}
			}()
			return func() {
				_ = cmd.Process.Signal(syscall.SIGINT) // its tracee may be gone, and it too
				_ = cmd.Wait()
			}, nil
		}
	}
	return nil, fmt.Errorf("strace: %s: %w", last, cmd.Wait())
}

// failSync makes synchronizing fail, failWrite writing, for good: the server must end by itself.
func failSync(r *run) error  { return failCalls(r, "fsync,fdatasync") }
func failWrite(r *run) error { return failCalls(r, "pwrite64") }

func failCalls(r *run, calls string) error {
	end, err := inject(r.server.Cmd.Process.Pid, calls, "error=EIO")
	if err != nil {
		return err
	}
	defer end()
	if err := endedByItself(r.server); err != nil {
		return err
	}
	return r.start()
}

func endedByItself(s *servertest.Server) error {
	select {
	case <-s.Ended:
	case <-time.After(servertest.Patience):
		return fmt.Errorf("the server went on after its disk had failed:\n%s", s.LogText())
	}
	if code := s.Cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(s.LogText(), "the database failed") {
		return fmt.Errorf("the server ended with %d and said\n%s", code, s.LogText())
	}
	return nil
}

// passing returns a fault that goes by: the server must get well without a
// restart.
func passing(calls, how string) func(*run) error {
	return func(r *run) error {
		end, err := inject(r.server.Cmd.Process.Pid, calls, how)
		if err != nil {
			return err
		}
		// The fault lasts for some real time: a delayed call and a connection that is refused leave nothing to poll.
		select {
		case <-r.server.Ended:
			end()
			return fmt.Errorf("%s of %s ended the server:\n%s", how, calls, r.server.LogText())
		case <-time.After(time.Duration(200+r.rand.IntN(300)) * time.Millisecond): // how long it lasts
		}
		end()
		if r.work(20) {
			return nil
		}
		// A call that strace leaves in the middle fails with ENOSYS, which is
		// no passing fault: the server must end then, and recover.
		select {
		case <-r.server.Ended:
			if err := endedByItself(r.server); err != nil {
				return err
			}
			return r.start()
		default:
			return fmt.Errorf("the server did not get well after %s of %s:\n%s", how, calls, r.server.LogText())
		}
	}
}

// failInTurn is each of the faults of system calls in turn.
func failInTurn(r *run) error {
	faults := []func(*run) error{
		failSync, failWrite, passing("pwrite64", "error=ENOSPC"), passing("fsync,fdatasync", "delay_enter=150000"), passing("accept4", "error=EMFILE"),
	}
	return faults[r.done%len(faults)](r)
}

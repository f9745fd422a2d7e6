package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// goFirst lets processes run before whatever else a machine does (SCHED_RR), until
// the test ends, so that they measure themselves and not their neighbours. It
// returns false where the user may not do that.
func goFirst(t *testing.T, pids ...int) bool {
	t.Helper()
	for _, pid := range pids {
		err := schedule(pid, unix.SCHED_RR, 1)
		if errors.Is(err, syscall.EPERM) {
			return false
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := schedule(os.Getpid(), unix.SCHED_NORMAL, 0); err != nil {
			t.Error(err)
		}
	})
	return true
}

// schedule gives every thread of a process a policy. New ones inherit it, so it
// goes on until it finds none without.
func schedule(pid int, policy, priority uint32) error {
	for changed := true; changed; {
		changed = false
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		if err != nil {
			return err
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(filepath.Base(task))
			if err != nil {
				return err
			}
			is, err := unix.SchedGetAttr(id, 0)
			if err == nil && is.Policy != policy {
				changed = true
				err = unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
			}
			if err != nil && !errors.Is(err, syscall.ESRCH) { // it may have ended
				return err
			}
		}
	}
	return nil
}

// work is what the processors did since the machine was started, in ticks.
type work struct{ all, others, stolen int }

// workBut returns the work; others is that of all processes but the given ones.
func workBut(pids ...int) (w work, err error) {
	machine, err := os.ReadFile("/proc/stat")
	if err != nil {
		return w, err
	}
	line, _, _ := strings.Cut(string(machine), "\n")
	var user, nice, system, idle, wait, irq, soft int
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft, &w.stolen); err != nil {
		return w, err
	}
	w.others = user + nice + system + irq + soft
	w.all = w.others + idle + wait + w.stolen
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return w, err
		}
		_, rest, _ := strings.Cut(string(text), ") ") // after the name
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			return w, fmt.Errorf("/proc/%d/stat = %s", pid, text)
		}
		for _, field := range fields[11:13] { // its time in user and in system
			ticks, err := strconv.Atoi(field)
			if err != nil {
				return w, err
			}
			w.others -= ticks
		}
	}
	return w, nil
}

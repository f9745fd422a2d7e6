package sqlite

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// writerOf names the other process that writes to the database at path, as far as
// the system tells.
func writerOf(path string) string {
	return cmp.Or(lockedBy(path, path+"-shm"), "that has locked "+path) // the lock is on the index of the log
}

// serverOf names the process that serves the database at path.
func serverOf(path string) string {
	if who := lockedBy(path + lockEnd); who != "" {
		return who
	}
	if t := readTrace(path); t != nil {
		return process(t.PID)
	}
	return "that has locked " + path + lockEnd
}

// lockedBy says which other process holds a lock for writing on one of the files:
// in the words of [process], or "" where the system does not tell.
func lockedBy(paths ...string) string {
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return ""
	}
	inodes := map[string]bool{}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			inodes[strconv.FormatUint(inodeOf(info), 10)] = true
		}
	}
	for line := range strings.Lines(string(text)) {
		// 1: POSIX  ADVISORY  WRITE 1234 08:01:5678 120 120
		f := strings.Fields(line)
		if len(f) < 8 || f[3] != "WRITE" {
			continue
		}
		_, inode, _ := strings.Cut(f[5], ":")
		_, inode, _ = strings.Cut(inode, ":")
		pid, err := strconv.Atoi(f[4])
		if err == nil && pid > 0 && pid != os.Getpid() && inodes[inode] {
			return process(pid)
		}
	}
	return ""
}

// process returns the number of a process with its name, and whether it is
// stopped, as far as the system tells.
func process(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return strconv.Itoa(pid)
	}
	// 1234 (petstore) T …
	from, to := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
	if from < 0 || to+2 >= len(stat) {
		return strconv.Itoa(pid)
	}
	if state := stat[to+2]; state == 'T' || state == 't' {
		return fmt.Sprintf("%d (%s, which is stopped: let it continue with kill -CONT %[1]d)", pid, stat[from+1:to])
	}
	return fmt.Sprintf("%d (%s)", pid, stat[from+1:to])
}

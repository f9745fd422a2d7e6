//go:build unix

package node

import "syscall"

// mostDescriptors returns how many files and sockets the process may have open.
func mostDescriptors() (int, bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return int(min(limit.Cur, 1<<30)), true //nolint:gosec // it fits
}

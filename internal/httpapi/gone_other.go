//go:build !unix

package httpapi

import "syscall"

// gone reports false: a client that leaves is noticed when it is answered.
func gone(syscall.RawConn) bool { return false }

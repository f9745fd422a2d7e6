//go:build !linux && !darwin

package node

import (
	"net"
	"time"
)

// endWithoutProgress changes nothing: other systems have no such option.
func endWithoutProgress(l net.Listener, _ time.Duration) net.Listener { return l }

package node

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	progressOption = unix.TCP_USER_TIMEOUT
	progressUnit   = time.Millisecond
)

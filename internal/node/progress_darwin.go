package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// The unit is a second. But macOS looks at the time only when it sends again, and the
// pauses between double: a connection ends after up to twice of what is set.
const (
	progressOption = unix.TCP_RXT_CONNDROPTIME
	progressUnit   = 2 * time.Second
)

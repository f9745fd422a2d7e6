package processtest

import (
	"bytes"
	"sync"
)

// A Buffer keeps what is written to it. Its methods may be called concurrently.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

package httpapi

import (
	"io"
	"strconv"
	"sync"
	"time"

	"example.com/petstore/internal/petstore"
)

// An AccessLog writes the line of each request as one JSON object, in the form
// of slog's JSONHandler and at a fraction of its cost. Lines are gathered and
// written together, whole, a tenth of a second after the first at the latest:
// what a crash loses. It may be used concurrently.
type AccessLog struct {
	mu    sync.Mutex
	w     io.Writer
	lines []byte
	timer *time.Timer // running while lines wait
}

const (
	accessDelay = 100 * time.Millisecond
	accessMost  = 32 << 10 // bytes that wait
)

// NewAccessLog returns the access log that writes to w. A failure of w is not
// told: there is nowhere to tell it.
func NewAccessLog(w io.Writer) *AccessLog {
	l := &AccessLog{w: w, lines: make([]byte, 0, accessMost+1024)}
	l.timer = time.AfterFunc(time.Hour, l.Flush)
	l.timer.Stop()
	return l
}

// Flush writes the lines that wait.
func (l *AccessLog) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

func (l *AccessLog) flush() {
	if len(l.lines) > 0 {
		_, _ = l.w.Write(l.lines)
		l.lines = l.lines[:0]
	}
	l.timer.Stop()
}

// add appends the line of one exchange.
func (l *AccessLog) add(x *exchange, o *Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		l.timer.Reset(accessDelay)
	}
	l.lines = appendLine(l.lines, x, o)
	if len(l.lines) >= accessMost {
		l.flush()
	}
}

// appendLine appends the same members that logLine has.
func appendLine(b []byte, x *exchange, o *Observation) []byte {
	b = append(b, `{"time":"`...)
	b = x.began.Add(o.Duration).UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"INFO","msg":"request","request_id":`...)
	b = petstore.AppendString(b, x.id)
	b = append(append(b, `,"method":"`...), o.Method...)
	b = petstore.AppendString(append(b, `","path":`...), o.Path)
	b = append(append(b, `,"operation":"`...), o.Operation...)
	b = strconv.AppendInt(append(b, `","status":`...), int64(o.Status), 10)
	b = strconv.AppendInt(append(b, `,"bytes":`...), x.sent, 10)
	b = appendMillis(append(b, `,"ms":`...), o.Duration)
	b = append(append(append(b, `,"limit":"`...), o.Outcome...), '"')
	if x.code != "" {
		b = append(append(append(b, `,"code":"`...), x.code...), '"')
	}
	if x.entry != nil {
		b = strconv.AppendInt(append(b, `,"workspace":`...), x.entry.Workspace.ID, 10)
		b = petstore.AppendString(append(b, `,"key":`...), x.entry.Key.ID)
	} else {
		b = append(x.addr.AppendTo(append(b, `,"address":"`...)), '"')
	}
	return append(b, "}\n"...)
}

// appendMillis appends what milliseconds returns.
func appendMillis(b []byte, d time.Duration) []byte {
	micros := d.Microseconds()
	b = strconv.AppendInt(b, micros/1000, 10)
	rest := micros % 1000
	for digit := int64(100); rest > 0; digit /= 10 {
		if digit == 100 {
			b = append(b, '.')
		}
		b = append(b, byte('0'+rest/digit)) //nolint:gosec // a digit
		rest %= digit
	}
	return b
}

// milliseconds returns d with three digits.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

package httpapi

import (
	"io"
	"log/slog"
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

// NewAccessLog returns the access log that writes to w. A failure of w is
// ignored: there is no other log.
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

// add appends the line of a request, which was answered at an instant.
func (l *AccessLog) add(at time.Time, attrs []slog.Attr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		l.timer.Reset(accessDelay)
	}
	l.lines = appendLine(l.lines, at, attrs)
	if len(l.lines) >= accessMost {
		l.flush()
	}
}

// appendLine appends what slog's JSONHandler would write.
func appendLine(b []byte, at time.Time, attrs []slog.Attr) []byte {
	b = at.UTC().AppendFormat(append(b, `{"time":"`...), time.RFC3339Nano)
	b = append(b, `","level":"INFO","msg":"request"`...)
	for i := range attrs {
		b = append(append(append(b, `,"`...), attrs[i].Key...), `":`...)
		switch v := attrs[i].Value; v.Kind() {
		case slog.KindInt64:
			b = strconv.AppendInt(b, v.Int64(), 10)
		case slog.KindFloat64:
			b = strconv.AppendFloat(b, v.Float64(), 'f', -1, 64)
		default:
			b = petstore.AppendString(b, v.String())
		}
	}
	return append(b, "}\n"...)
}

package httpapi

import (
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"example.com/petstore/internal/petstore"
)

// An AccessLog writes a line for each request: one JSON object in the form of slog's
// JSONHandler, at a fraction of its cost. Lines are collected for a tenth of a second
// and written together. A crash loses the lines that were not written yet. It may be
// used concurrently.
type AccessLog struct {
	mu    sync.Mutex
	w     io.Writer
	lines []byte
	timer *time.Timer // runs while lines are buffered
}

const (
	accessDelay = 100 * time.Millisecond
	accessMost  = 32 << 10 // bytes of buffered lines
)

// NewAccessLog returns an access log that writes to w. It ignores errors of w, since
// they could be logged nowhere.
func NewAccessLog(w io.Writer) *AccessLog {
	l := &AccessLog{w: w, lines: make([]byte, 0, accessMost+1024)}
	l.timer = time.AfterFunc(time.Hour, l.Flush)
	l.timer.Stop()
	return l
}

// Flush writes the buffered lines.
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

// add appends the line of a request. at is when it was answered.
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

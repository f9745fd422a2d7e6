package ratelimit

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"time"
)

//go:embed decide.lua
var decideSource string

// keyPrefix begins every key of ours in Redis.
const keyPrefix = "petstore:"

// The script counts time in microseconds, which a double can hold.
const microsecond = int64(time.Microsecond)

// A scriptCall is what the script is called with.
type scriptCall struct {
	subject string
	counts  bool // whether the request counts; otherwise the script changes nothing
	limits  Limits
	known   windows // what this node knows, in case Redis has lost counts
}

// newCall returns a call about a subject, whose mutex is held.
func (s *subject) newCall(counts bool) scriptCall {
	return scriptCall{subject: s.name, counts: counts, limits: s.limits, known: s.windows}
}

// arguments returns what decide.lua describes. An instant of 0 is the server's own. Instants are rounded down, so that none
// comes too early.
func (c *scriptCall) arguments(now int64) []string {
	var counts int64
	if c.counts {
		counts = 1
	}
	b := make([]byte, 0, 8*8)
	for _, n := range [...]int64{
		counts, now / microsecond, c.limits.PerMinute, c.limits.PerDay,
		c.known.minuteStart / microsecond, c.known.minuteUsed, c.known.day, c.known.dayUsed,
	} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(n)))
	}
	return []string{string(b)}
}

// A scriptReply is what the script returned. Times are in nanoseconds.
type scriptReply struct {
	outcome Outcome
	now     int64
	windows windows
}

func parseReply(b []byte) (scriptReply, error) {
	var n [6]int64
	if len(b) != len(n)*8 {
		return scriptReply{}, errors.New("the script's reply cannot be read")
	}
	for i := range n {
		n[i] = int64(math.Float64frombits(binary.LittleEndian.Uint64(b[i*8:])))
	}
	return scriptReply{
		outcome: Outcome(n[0]), now: n[1] * microsecond, //nolint:gosec // one of the outcomes
		windows: windows{minuteStart: n[2] * microsecond, minuteUsed: n[3], day: n[4], dayUsed: n[5]},
	}, nil
}

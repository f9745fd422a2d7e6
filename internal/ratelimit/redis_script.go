package ratelimit

import (
	_ "embed"
	"fmt"
	"strconv"
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
	numbers := [...]int64{
		0, now / microsecond, c.limits.PerMinute, c.limits.PerDay,
		c.known.minuteStart / microsecond, c.known.minuteUsed, c.known.day, c.known.dayUsed,
	}
	if c.counts {
		numbers[0] = 1
	}
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return texts
}

// A scriptReply is what the script returned. Times are in nanoseconds.
type scriptReply struct {
	outcome Outcome
	now     int64
	windows windows
}

func newReply(n []int64) (scriptReply, error) {
	if len(n) != 6 || n[0] < 0 || n[0] > int64(RefusedDay) {
		return scriptReply{}, fmt.Errorf("the script's reply %v cannot be read", n)
	}
	return scriptReply{
		outcome: Outcome(n[0]), now: n[1] * microsecond,
		windows: windows{minuteStart: n[2] * microsecond, minuteUsed: n[3], day: n[4], dayUsed: n[5]},
	}, nil
}

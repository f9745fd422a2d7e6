package ratelimit

import (
	_ "embed"
	"errors"
	"strconv"
	"time"
)

//go:embed decide.lua
var decideSource string

// keyPrefix begins every key of ours in Redis.
const keyPrefix = "petstore:"

// The script counts time in microseconds, which a double can hold.
const microsecond = int64(time.Microsecond)

// maxExact is the largest number up to which a double holds every whole number.
const maxExact = 1<<53 - 1

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

func (c *scriptCall) keys() []string { return []string{keyPrefix + c.subject} }

// arguments returns what decide.lua describes. An instant of 0 is the server's own. Instants are rounded down, so that none
// comes too early.
func (c *scriptCall) arguments(now int64) []string {
	counts := "0"
	if c.counts {
		counts = "1"
	}
	args := make([]string, 1, 8)
	args[0] = counts
	for _, n := range [...]int64{
		now / microsecond, c.limits.PerMinute, c.limits.PerDay,
		c.known.minuteStart / microsecond, c.known.minuteUsed, c.known.day, c.known.dayUsed,
	} {
		args = append(args, strconv.FormatInt(n, 10))
	}
	return args
}

// A scriptReply is what the script returned. Times are in nanoseconds.
type scriptReply struct {
	outcome Outcome
	now     int64
	windows windows
}

var errReply = errors.New("the script's reply cannot be read")

// parseReply takes nothing that the script cannot return: another program may have replied.
func parseReply(n []int64) (scriptReply, error) {
	if len(n) != 6 || n[0] > int64(RefusedDay) {
		return scriptReply{}, errReply
	}
	for _, number := range n {
		if number < 0 || number > maxExact {
			return scriptReply{}, errReply
		}
	}
	return scriptReply{
		outcome: Outcome(n[0]), now: n[1] * microsecond, //nolint:gosec // one of the outcomes
		windows: windows{minuteStart: n[2] * microsecond, minuteUsed: n[3], day: n[4], dayUsed: n[5]},
	}, nil
}

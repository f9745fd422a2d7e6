package ratelimit

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

//go:embed decide.lua
var decideSource string

// keyPrefix begins every key of ours in Redis.
const keyPrefix = "petstore:"

// The modes of the script.
const (
	modeAdmit  = iota // decide, and count
	modePeek          // change nothing
	modeReport        // take over what the node reports
)

const late = 4 // the outcome of a call that arrived after its deadline, and did nothing

// The script counts time in microseconds, which a double can hold.
const microsecond = int64(1000)

// maxExact is the largest number up to which a double holds every whole number.
const maxExact = 1<<53 - 1

// A question is one call of the script. It tells Redis what it may lack: counts that it has lost, what this node admitted
// without it, and a change of a ban.
type question struct {
	subject  string
	keyID    string // "" for an address
	mode     int
	limits   Limits
	known    windows    // what Redis is known to have counted
	local    windows    // what this node admitted without Redis
	reported windows    // as much of it as Redis is known to have
	override *banChange // nil: none
	clean    int64      // with override: the instant that clean days count from
	number   int64      // of the subject's calls
}

// An answer is what the script returned. Times are in nanoseconds.
type answer struct {
	outcome Outcome
	begins  bool // the ban is new
	late    bool
	now     int64
	windows windows
	penalty penalty
}

// reports reports whether the question tells of local admissions.
func (q *question) reports() bool { return q.local != q.reported }

// keys returns the keys of the call, which a cluster has in one part. The second notes what of this node's local
// admissions is in the first, so that none is added twice.
func (q *question) keys(node string) []string {
	key := keyPrefix + q.subject
	if !q.reports() {
		return []string{key}
	}
	return []string{key, "{" + key + "}:" + node}
}

// arguments returns what the script is called with. An instant of 0 is the server's own; no deadline is 0.
func (q *question) arguments(at, deadline int64) []string {
	args := []string{q.numbers(at, deadline), q.keyID}
	if q.override == nil && !q.reports() {
		return args
	}
	args = append(args, "")
	if o := q.override; o != nil {
		b := appendTime(nil, o.when)
		b = appendNumber(b, o.level)
		args[2] = string(appendTime(b, q.clean))
	}
	if q.reports() {
		args = append(args, string(appendWindows(appendWindows(nil, q.local), q.reported)))
	}
	return args
}

func (q *question) numbers(at, deadline int64) string {
	b := make([]byte, 0, 9*8)
	b = appendNumber(b, int64(q.mode))
	b = appendTime(b, at)
	b = appendTime(b, deadline)
	b = appendNumber(b, q.limits.PerMinute)
	b = appendNumber(b, q.limits.PerDay)
	return string(appendWindows(b, q.known))
}

func appendNumber(b []byte, n int64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(min(n, maxExact))))
}

// appendTime rounds down, so that an instant does not come too early.
func appendTime(b []byte, ns int64) []byte { return appendNumber(b, floor(ns, microsecond)) }

func appendWindows(b []byte, w windows) []byte {
	b = appendTime(b, w.minuteStart)
	b = appendNumber(b, w.minuteUsed)
	b = appendNumber(b, w.day)
	return appendNumber(b, w.dayUsed)
}

// script returns the text of the script with the rules in it.
func (r *rules) script() string {
	numbers := []string{strconv.Itoa(r.Strikes)}
	for _, d := range []time.Duration{r.StrikeWindow, r.Grace, r.FirstBan, r.MaxBan} {
		numbers = append(numbers, strconv.FormatInt(ceil(int64(d), microsecond), 10))
	}
	numbers = append(numbers, strconv.FormatInt(r.topLevel, 10))
	return strings.Replace(decideSource, "= RULES", "= "+strings.Join(numbers, ", "), 1)
}

var errAnswer = errors.New("the script's answer cannot be read")

// numbers returns what an answer says, or nil if anything is no whole number of those that a double holds exactly.
func numbers(b []byte) []int64 {
	n := make([]int64, 0, 16)
	for ; len(b) > 0; b = b[8:] {
		if len(b) < 8 {
			return nil
		}
		f := math.Float64frombits(binary.LittleEndian.Uint64(b))
		if !(math.Abs(f) <= maxExact) || f != math.Trunc(f) {
			return nil
		}
		n = append(n, int64(f))
	}
	return n
}

// parseAnswer reads what the script returned. It takes nothing that the script cannot return: the answer may be another
// program's.
func parseAnswer(b []byte) (a answer, err error) {
	n := numbers(b)
	switch {
	case len(n) == 2 && n[0] == late:
		return answer{late: true, now: n[1] * microsecond}, nil
	case len(n) != 7 && len(n) < 13 || n[0] < 0 || n[0] > int64(Banned) || n[1] != 0 && n[1] != 1:
		return a, errAnswer
	}
	a = answer{
		outcome: Outcome(n[0]), begins: n[1] == 1, now: n[2] * microsecond, //nolint:gosec // one of them
		windows: windows{minuteStart: n[3] * microsecond, minuteUsed: n[4], day: n[5], dayUsed: n[6]},
	}
	if p := n[7:]; len(p) > 0 {
		a.penalty = penalty{
			runFrom: p[0] * microsecond, runUntil: p[1] * microsecond, banFrom: p[2] * microsecond, banUntil: p[3] * microsecond,
			level: p[4], cleanSince: p[5] * microsecond,
		}
		for _, at := range p[6:] {
			a.penalty.strikes = append(a.penalty.strikes, at*microsecond)
		}
	}
	if a.outcome == Banned && a.penalty.banUntil <= a.now {
		return answer{}, errAnswer
	}
	return a, nil
}

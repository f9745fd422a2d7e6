package ratelimit

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
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
	numbers := []string{strconv.Itoa(r.strikes)}
	for _, d := range []int64{r.window, r.grace, r.firstBan, r.longest} {
		numbers = append(numbers, strconv.FormatInt(ceil(d, microsecond), 10))
	}
	numbers = append(numbers, strconv.FormatInt(r.topLevel, 10))
	return strings.Replace(decideSource, "= RULES", "= "+strings.Join(numbers, ", "), 1)
}

var errAnswer = errors.New("the script's answer cannot be read")

// reader takes numbers off an answer.
type reader struct {
	rest  []byte
	wrong bool // one was no whole number of those that a double holds exactly
}

func (r *reader) number() int64 {
	f := math.Float64frombits(binary.LittleEndian.Uint64(r.rest))
	r.rest = r.rest[8:]
	if !(math.Abs(f) <= maxExact) || f != math.Trunc(f) {
		r.wrong = true
		return 0
	}
	return int64(f)
}

func (r *reader) time() int64 { return r.number() * microsecond }

// flag takes 0 or 1.
func (r *reader) flag() bool {
	n := r.number()
	r.wrong = r.wrong || n != 0 && n != 1
	return n == 1
}

// parseAnswer reads what the script returned. It takes nothing that the script cannot return: the answer may be another
// program's.
func parseAnswer(b []byte) (a answer, err error) {
	if len(b)%8 != 0 || len(b) < 2*8 {
		return a, errAnswer
	}
	r := reader{rest: b}
	if first := r.number(); first == late && len(b) == 2*8 {
		a = answer{late: true, now: r.time()}
	} else if first < 0 || first > int64(Banned) || len(b) != 7*8 && len(b) < 13*8 {
		return a, errAnswer
	} else {
		a.outcome = Outcome(first)
		r.decision(&a)
	}
	if r.wrong || a.outcome == Banned && a.penalty.banUntil <= a.now {
		return answer{}, errAnswer
	}
	return a, nil
}

// decision takes what follows an outcome.
func (r *reader) decision(a *answer) {
	a.begins = r.flag()
	a.now = r.time()
	a.windows = windows{minuteStart: r.time(), minuteUsed: r.number(), day: r.number(), dayUsed: r.number()}
	if len(r.rest) == 0 {
		return
	}
	a.penalty = penalty{runFrom: r.time(), runUntil: r.time(), banFrom: r.time(), banUntil: r.time(), level: r.number(), cleanSince: r.time()}
	for len(r.rest) > 0 {
		a.penalty.strikes = append(a.penalty.strikes, r.time())
	}
}

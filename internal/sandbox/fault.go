package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Fault is a fault that a request asks for in the header Petstore-Simulate.
type Fault struct {
	Code       string        // of the error that is the answer; "" for none
	RetryAfter time.Duration // of that error; 0 if it is not given
	Latency    time.Duration // before the request is carried out
	Connection string        // how the connection is closed: one of those below, or ""
	Sunset     bool          // the operation has ended
	Times      int           // how many requests with the same ID fail; 0 without an ID
	ID         string
}

// How a connection is closed.
const (
	RefuseAnswer = "refuse-answer" // without carrying out the request
	LoseAnswer   = "lose-answer"   // after carrying out the request, without an answer
	CutAnswer    = "cut-answer"    // after half of the answer
)

// The limits of a fault.
const (
	maxLatency    = 30 * time.Second
	maxRetryAfter = 86_400 // seconds
	maxTimes      = 1000
	maxID         = 100 // characters
)

// ParseFault parses a value of the header.
func ParseFault(value string) (f Fault, err error) {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(value, ";") {
		name, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[name] {
			return f, fmt.Errorf("%.40s may be said once only", name)
		}
		seen[name] = true
		if err := f.set(name, text); err != nil {
			return f, err
		}
	}
	switch {
	case f.Code == "" && f.Latency == 0 && f.Connection == "" && !f.Sunset:
		return f, errors.New("it needs code, latency, connection or sunset")
	case f.Code != "" && f.Sunset:
		return f, errors.New("code and sunset exclude each other")
	case f.RetryAfter > 0 && f.Code == "":
		return f, errors.New("retry-after needs code")
	case (f.Times > 0) != (f.ID != ""):
		return f, errors.New("times and id go together")
	}
	return f, nil
}

func (f *Fault) set(name, text string) (err error) { //nolint:cyclop // a case for each name
	switch name {
	case "code":
		if f.Code = text; text == "" {
			err = errors.New("code must name a code")
		}
	case "retry-after":
		var seconds int
		seconds, err = whole(name, text, maxRetryAfter)
		f.RetryAfter = time.Duration(seconds) * time.Second
	case "latency":
		if f.Latency, err = time.ParseDuration(text); err != nil || f.Latency <= 0 || f.Latency > maxLatency {
			err = fmt.Errorf("latency must be a duration such as 1500ms, at most %v", maxLatency)
		}
	case "connection":
		if f.Connection = text; !slices.Contains([]string{RefuseAnswer, LoseAnswer, CutAnswer}, text) {
			err = errors.New("connection must be refuse-answer, lose-answer or cut-answer")
		}
	case "sunset":
		if f.Sunset = text == "now"; !f.Sunset {
			err = errors.New("sunset must be now")
		}
	case "times":
		f.Times, err = whole(name, text, maxTimes)
	case "id":
		if f.ID = text; text == "" || len(text) > maxID {
			err = fmt.Errorf("id must have 1 to %d characters", maxID)
		}
	default:
		err = fmt.Errorf("there is no %.40q; there are code, retry-after, latency, connection, sunset, times and id", name)
	}
	return err
}

func whole(name, text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s must be a whole number from 1 to %d", name, most)
	}
	return n, nil
}

// String returns what the server does to the request, in the form of the header.
func (f *Fault) String() string {
	var done []string
	add := func(name, value string) {
		if value != "" && value != "0s" {
			done = append(done, name+"="+value)
		}
	}
	add("latency", f.Latency.String())
	add("code", f.Code)
	if f.Sunset {
		add("sunset", "now")
	}
	add("connection", f.Connection)
	return strings.Join(done, "; ")
}

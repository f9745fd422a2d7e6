package ratelimit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gomodule/redigo/redis"
)

// FuzzScriptAnswer checks that every number of an answer that is taken is in what it is taken for, exactly, and that
// nothing else is.
func FuzzScriptAnswer(f *testing.F) {
	number := func(all ...float64) (b []byte) {
		for _, n := range all {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(n))
		}
		return b
	}
	f.Add([]byte{})
	f.Add(number(0, 0, 1.7e15, 1.7e15, 1, 20000, 1))
	f.Add(number(3, 1, 1.7e15, 1.7e15, 60, 20000, 60, 0, 0, 1.7e15, 1.8e15, 1, 1.8e15, 1.6e15, 1.7e15))
	f.Add(number(late, 1.7e15))
	f.Add(number(late, 1.7e15, 9))
	f.Add(number(0, 2, math.NaN(), math.Inf(1), 0.5, 1e300, -1))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseAnswer(b)
		if err != nil {
			if !errors.Is(err, errAnswer) {
				t.Errorf("parseAnswer(%x): %v, want %v", b, err, errAnswer)
			}
			return
		}
		if want := numbersOf(&got, len(b)); len(want) != len(b)/8 {
			t.Errorf("parseAnswer(%x) = %+v, which is %d numbers, want %d", b, got, len(want), len(b)/8)
		} else {
			for i, n := range want {
				if was := math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])); was != n {
					t.Errorf("parseAnswer(%x) = %+v: number %d is %v, want %v", b, got, i, n, was)
				}
			}
		}
	})
}

// numbersOf returns what the script would return for an answer of so many bytes.
func numbersOf(a *answer, size int) []float64 {
	us := func(ns int64) float64 { return float64(ns / microsecond) }
	if a.late {
		return []float64{late, us(a.now)}
	}
	begins := 0.0
	if a.begins {
		begins = 1
	}
	w, p := a.windows, a.penalty
	all := []float64{float64(a.outcome), begins, us(a.now), us(w.minuteStart), float64(w.minuteUsed), float64(w.day), float64(w.dayUsed)}
	if size == len(all)*8 {
		return all
	}
	all = append(all, us(p.runFrom), us(p.runUntil), us(p.banFrom), us(p.banUntil), float64(p.level), us(p.cleanSince))
	for _, s := range p.strikes {
		all = append(all, us(s))
	}
	return all
}

// A canned connection takes everything and has said all that it says.
type canned struct {
	net.Conn
	says io.Reader
}

func (c canned) Read(b []byte) (int, error)     { return c.says.Read(b) }
func (c canned) Write(b []byte) (int, error)    { return len(b), nil }
func (canned) Close() error                     { return nil }
func (canned) SetWriteDeadline(time.Time) error { return nil }
func (canned) SetReadDeadline(time.Time) error  { return nil }

// repliesIn returns what bytes from a server mean to its client, up to the first that mean nothing. They come one by one,
// so that the end of each reply can be compared with what bounds them.
func repliesIn(t *testing.T, b []byte) (all []reply) {
	t.Helper()
	bound := &bounded{Conn: canned{says: iotest.OneByteReader(bytes.NewReader(b))}}
	c := redis.NewConn(bound, 0, 0)
	for {
		value, err := c.Receive()
		if _, refused := errors.AsType[redis.Error](err); err != nil && !refused {
			return all
		}
		all = append(all, reply{value, err})
		if bound.kind != 0 || bound.bulk != 0 || bound.open != 0 || bound.taken != 0 {
			t.Errorf("%q: after %d replies what bounds them stands at %+v", b, len(all), bound)
		}
	}
}

// TestLongReplies: what announces more than any command returns is not waited for, in whatever part of a reply.
func TestLongReplies(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", replyMax-100)
	for says, want := range map[string]error{
		"$50000000000\r\n":                                      errLong,
		"$99999999999999999999999999\r\n":                       errLong,
		"*1000000\r\n":                                          errLong,
		"*2\r\n$1\r\nx\r\n*1000000\r\n":                         errLong,
		strings.Repeat("*1\r\n", 300_000):                       errLong,
		"+" + strings.Repeat("x", replyMax) + "\r\n":            errLong,
		"*2\r\n$8388000\r\n" + text[:8388000] + "\r\n$1000\r\n": errLong,
		fmt.Sprintf("$%d\r\n%s\r\n", len(text), text):           io.EOF,
		strings.Repeat(":1\r\n$-1\r\n*-1\r\n*0\r\n", 500_000):   io.EOF,
	} {
		c := redis.NewConn(&bounded{Conn: canned{says: strings.NewReader(says)}}, 0, 0)
		var err error
		for err == nil {
			_, err = c.Receive()
		}
		if !errors.Is(err, want) {
			t.Errorf("%.60q of %d bytes: %v, want %v", says, len(says), err, want)
		}
	}
}

// FuzzRedisReplies checks that whatever a server, a sentinel or a cluster says names only servers that one can dial, and
// the parts of a cluster as it says; and that an answer that cannot be read changes nothing.
func FuzzRedisReplies(f *testing.F) {
	for _, seed := range []string{
		"-MOVED 3999 127.0.0.1:6381\r\n-ASK 7 [::1]:1\r\n-ASK 7 :99999\r\n-MOVED 1 ?:1\r\n",
		"-NOAUTH Authentication required.\r\n-NOPERM no\r\n-WRONGPASS\r\n-LOADING\r\n+OK\r\n:7\r\n$-1\r\n*-1\r\n",
		"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:7000\r\n",
		"*2\r\n*3\r\n:0\r\n:100\r\n*3\r\n$-1\r\n:7000\r\n$1\r\nx\r\n*4\r\n:5\r\n:2\r\n*2\r\n$1\r\n?\r\n:70000\r\n*0\r\n",
		"*2\r\n$7\r\n1.2.3.4\r\n$4\r\n6379\r\n*1\r\n*6\r\n$2\r\nip\r\n$3\r\n::1\r\n$4\r\nport\r\n$5\r\n26379\r\n$5\r\nflags\r\n$8\r\nsentinel\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, got := range repliesIn(t, b) {
			s := newServers(target{network: "unix", addresses: []string{"h:9"}})
			from := s.named("h:9")
			if to, once := s.redirected(from, got.err); to != nil && once == (len(s.again) == 1) {
				t.Errorf("%v: once %t, want that either the routes are in doubt or it is once", got.err, once)
			}
			before := &routes{one: from}
			s.routes.Store(before)
			if err := s.takeSlots("h", got.value); (err == nil) == (s.routes.Load() == before) {
				t.Errorf("takeSlots(%q) = %v, and the routes changed: %t", got.value, err, s.routes.Load() != before)
			} else if err == nil {
				checkSlots(t, s, got.value)
			}
			for address := range s.known.byName {
				if why := undialable("tcp", address); why != "" {
					t.Errorf("%q, %v: leads to %q: %s", got.value, got.err, address, why)
				}
			}
			s.close()
			if rows, err := redis.Values(got.value, got.err); err == nil {
				for _, address := range addressesIn(rows) {
					if why := undialable("tcp", address); why != "" {
						t.Errorf("%q: a sentinel at %q: %s", got.value, address, why)
					}
				}
			}
		}
	})
}

// checkSlots checks that each part of a cluster is where the last row says that has it.
func checkSlots(t *testing.T, s *servers, answer any) {
	t.Helper()
	want := make([]*server, slots)
	for _, row := range answer.([]any) {
		fields := row.([]any)
		var numbers []int
		for _, n := range []any{fields[0], fields[1], fields[2].([]any)[1]} {
			i, err := redis.Int(n, nil)
			if err != nil {
				return // redigo reads more as a number than this does
			}
			numbers = append(numbers, i)
		}
		host, err := redis.String(fields[2].([]any)[0], nil)
		if err != nil || host == "" || host == "?" {
			host = "h"
		}
		for i := numbers[0]; i <= numbers[1]; i++ {
			want[i] = s.known.byName[net.JoinHostPort(host, strconv.Itoa(numbers[2]))]
		}
	}
	if got := s.routes.Load().slots; !slices.Equal(got, want) {
		t.Errorf("the routes of %q are not what it says", answer)
	}
}

// FuzzRedisTalk has a server answer a decision with any bytes. The decision is Redis's or the node's own; in either case
// it is a whole one, made once, and within the time of a call.
func FuzzRedisTalk(f *testing.F) {
	a := answer{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano()}
	a.windows = windows{minuteStart: a.now, minuteUsed: 3, day: dayOf(a.now), dayUsed: 9}
	for _, outcome := range []Outcome{Admitted, RefusedMinute, RefusedDay, Banned} {
		a.outcome, a.begins = outcome, outcome == Banned
		a.penalty.banFrom, a.penalty.banUntil, a.penalty.level = a.now, a.now+minute, 1
		for _, size := range []int{7 * 8, 14 * 8} {
			var b []byte
			for _, n := range numbersOf(&a, size) {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(n))
			}
			f.Add(fmt.Appendf(nil, "$%d\r\n%s\r\n", len(b), b))
		}
	}
	f.Add([]byte("-NOSCRIPT No matching script\r\n-ERR unknown\r\n"))
	f.Add([]byte("-MOVED 1 h:1\r\n"))
	f.Add([]byte("+OK\r\n+OK\r\n"))
	f.Add([]byte("$1000000\r\nx"))
	f.Fuzz(func(t *testing.T, says []byte) {
		now := time.Unix(0, a.now).UTC()
		r, err := newRedis(RedisOptions{URL: "unix:///nowhere", Config: DefaultConfig(), Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer r.servers.close()
		one := newServer("h", func(context.Context) (*link, error) {
			socket := &unhurried{Conn: canned{says: bytes.NewReader(says)}}
			return &link{socket: socket, conn: redis.NewConn(&bounded{Conn: socket}, 0, 0)}, nil
		})
		defer one.close()
		r.servers.routes.Store(&routes{one: one})
		r.breaker.close()
		r.timeout = time.Second
		limits := Limits{PerMinute: 60, PerDay: 1000}
		d := r.Admit(t.Context(), r.Caller(7, "key", limits))
		if s := r.RedisStats(); s.Decided+s.Alone != 1 {
			t.Errorf("%q: %d decisions of Redis and %d of the node, want one", says, s.Decided, s.Alone)
		}
		if d.Minute.Limit != limits.PerMinute || d.Day.Limit != limits.PerDay || d.Outcome > Banned {
			t.Errorf("%q: the decision is %+v, want the limits %+v", says, d, limits)
		}
		if d.Admitted() != (d.RetryAfter == 0) || d.RetryAfter < 0 || (d.Outcome == Banned) != (d.BannedUntil != 0) {
			t.Errorf("%q: the decision is %+v", says, d)
		}
	})
}

// undialable returns why nobody can dial an address, whatever names there are; "": one might.
func undialable(network, address string) string {
	if network == "unix" {
		return map[bool]string{true: "it is empty"}[address == ""]
	}
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return err.Error()
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != digits {
		return "no such port"
	}
	bare, _, _ := strings.Cut(host, "%")
	if isIP := net.ParseIP(bare) != nil; host == "" || !isIP && (strings.ContainsAny(host, ":/@[]?#%") || len(strings.Fields(host)) != 1) {
		return "no such host"
	}
	return ""
}

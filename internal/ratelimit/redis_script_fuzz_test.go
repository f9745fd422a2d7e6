package ratelimit

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
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

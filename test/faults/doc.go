// Package faults breaks the binary from outside, and checks that nothing that it
// acknowledged is lost, doubled or oversold. It has tests only.
//
// A campaign lets buyers order through one fault after another: the process
// killed, the power cut, the disk failing, stalling or full, PostgreSQL crashing
// or failing over. They write down what they were told in a [ledger],
// against which the database is held at the end.
//
// The tests run short campaigns; a long one is
//
//	make soak DURATION=10m SEED=1
package faults

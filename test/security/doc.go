// Package security attacks the binary from outside. It has tests only. Those
// that concern operations are generated from the description, so that a new
// operation fails until it is as closed as the others.
package security

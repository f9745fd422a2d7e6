// Package archtest holds the code against docs/design.md: which package may
// import which, who may import a driver, how packages are named. It has tests
// only.
package archtest

// Package archtest tests that the code follows docs/design.md: which package may import
// which, which packages may import a driver, and how packages are named. It contains
// only tests.
package archtest

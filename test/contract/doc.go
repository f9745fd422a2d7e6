// Package contract holds the description to its word: it is clean by two linters, nothing that was released breaks before
// its time, and no change comes without a version and a line in the changelog. docs/lifecycle.md is the policy.
//
// It has tests only. The linters need npm: without it they fail if CI is "true", and skip elsewhere.
package contract

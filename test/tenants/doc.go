// Package tenants holds the binary to the promise that no workspace holds up another.
// It has tests only, which need Linux.
//
// Each row of [TestTenants] is something that all workspaces share. Ten greedy
// workspaces hold as much of it as they can, with several clients each. A modest
// workspace asks for a little of everything meanwhile, one request at a time: none
// fails, and of a hundred 99 take at most three times as long as of another server on
// the same machine that the greedy leave alone.
//
// The tests run at 64 MiB of memory. All sizes, and rows that seldom tell more, are in
//
//	go test -v ./test/tenants -args -matrix
package tenants

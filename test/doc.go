// Package test runs the binary from outside, as its users do. It has tests
// only: the scripts in testdata, in the txtar form, may use these commands
// besides those of testscript:
//
//	serve NAME [FLAG…]           start "petstore serve FLAG…" on free ports and wait until it is announced;
//	                             sets URL, OPS and OPSADDR, with --demo also KEY and CURL; the log goes to NAME.log
//	signal NAME SIGNAL           send SIGTERM, SIGINT or SIGKILL
//	wait-end NAME CODE [TARGET]  wait for the end, meanwhile asking for TARGET, and expect the exit code (-1: killed)
//	end NAME SIGNAL CODE         both
//	exits CODE PROGRAM [ARG…]    run a program, like exec, and expect the exit code
//	http STATUS METHOD TARGET [-H HEADER]… [BODY]
//	                             make a request, with $KEY as bearer if it is set, and expect the status; the header
//	                             goes to stderr and the body to stdout. TARGET is a path below URL, or a URL
//	within TIME http …           repeat the request until it succeeds, for TIME at most
//	capture VAR FILE REGEXP      set VAR to what the first group matches in FILE, stdout or stderr
//	newer FILE                   make a database look as if a newer version had made it
package test

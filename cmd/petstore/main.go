// Command petstore is the petstore service and everything to run it with. See
// "petstore help".
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"example.com/petstore/internal/cli"
)

func main() {
	os.Exit(cli.Main(interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// interruptible returns a context that the first SIGINT or SIGTERM ends. The
// second ends the process.
func interruptible() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(cli.Interrupted)
	}()
	return ctx
}

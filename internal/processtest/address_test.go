package processtest_test

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
)

func TestFreeAddrIsNoClients(t *testing.T) {
	t.Parallel()
	for range 50 {
		addr, err := processtest.FreeAddr()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", addr)
		for deadline := time.Now().Add(10 * time.Second); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(deadline); {
			runtime.Gosched() // the other tests here start processes
			l, err = net.Listen("tcp", addr)
		}
		if err != nil {
			t.Fatalf("FreeAddr() = %q: %v", addr, err)
		}
		if port := l.Addr().(*net.TCPAddr).Port; port < 1024 || port >= 32768 {
			t.Errorf("FreeAddr() = %q, want a port from 1024 on and below 32768, the first that Linux gives to clients", addr)
		}
		l.Close()
	}
}

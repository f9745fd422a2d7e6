package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"

	"golang.org/x/sys/unix"
)

// A poller has many connections, which it reads and writes from one loop, without
// the runtime's own poller.
type poller struct {
	epoll  int
	open   map[int]bool // descriptors
	events [128]unix.EpollEvent
	ready  []int
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &poller{epoll: fd, open: map[int]bool{}}, err
}

// connect returns the descriptor of a new connection. When it can be read wait reports the number.
func (p *poller) connect(addr string, number int) (int, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	p.open[fd] = true
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return 0, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	return fd, errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), unix.SetNonblock(fd, true),
		unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(number)}))
}

func (p *poller) disconnect(fd int) {
	delete(p.open, fd)
	_ = unix.Close(fd) // it was read to its end
}

// wait returns at once, with the numbers of what can be read; they are valid
// until the next call.
func (p *poller) wait() ([]int, error) {
	n, err := unix.EpollWait(p.epoll, p.events[:], 0)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return nil, err
	}
	p.ready = p.ready[:0]
	for i := range max(0, n) {
		p.ready = append(p.ready, int(p.events[i].Fd))
	}
	return p.ready, nil
}

func (p *poller) read(fd int, into []byte) (int, error) {
	n, err := unix.Read(fd, into)
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return 0, nil
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

func (p *poller) write(fd int, out []byte) error {
	n, err := unix.Write(fd, out)
	if err == nil && n < len(out) {
		err = io.ErrShortWrite
	}
	return err
}

func (p *poller) close() {
	for fd := range p.open {
		p.disconnect(fd)
	}
	_ = unix.Close(p.epoll)
}

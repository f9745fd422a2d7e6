package main

import (
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// A poller reads and writes many connections from one loop, without the
// runtime's own poller.
type poller struct {
	epoll  int
	files  map[int]*os.File // by descriptor
	events [128]unix.EpollEvent
	ready  []int
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &poller{epoll: fd, files: map[int]*os.File{}}, err
}

// add has wait report the number when conn can be read. The descriptor that it
// returns is the poller's.
func (p *poller) add(conn net.Conn, number int) (fd int, err error) {
	f, err := conn.(*net.TCPConn).File()
	if err != nil {
		return 0, err
	}
	fd = int(f.Fd())
	p.files[fd] = f
	if err := unix.SetNonblock(fd, true); err != nil {
		return 0, err
	}
	return fd, unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(number)})
}

// remove closes a descriptor that add returned.
func (p *poller) remove(fd int) error {
	f := p.files[fd]
	delete(p.files, fd)
	return f.Close()
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

func (p *poller) close() error {
	errs := []error{unix.Close(p.epoll)}
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

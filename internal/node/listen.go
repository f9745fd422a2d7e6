package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"example.com/petstore/internal/config"
)

// sockets are the listeners of a server; ops is nil if there is none.
type sockets struct {
	public, ops net.Listener
	inherited   bool // the public one
}

func (s *sockets) close() {
	for _, l := range []net.Listener{s.public, s.ops} {
		if l != nil {
			l.Close() // a server that ran has closed it
		}
	}
}

// progressTimeout is how long a client may take nothing of what was sent to it.
const progressTimeout = 30 * time.Second

// listen takes the sockets that systemd hands over, opens those that it does
// not, and puts TLS on the public one if it is set.
func (n *node) listen() (*sockets, error) {
	s, err := inherited()
	if err != nil {
		return nil, err
	}
	if s.inherited = s.public != nil; !s.inherited {
		if s.public, err = n.openSocket("addr", n.Config.Addr); err != nil {
			return nil, err
		}
	}
	if s.ops == nil && n.Config.OpsAddr != config.Off {
		if s.ops, err = n.openSocket("ops-addr", n.Config.OpsAddr); err != nil {
			s.close()
			return nil, err
		}
	}
	if s.public, err = n.secure(n.connections.Listener(endWithoutProgress(s.public, progressTimeout))); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// warnPublicOps logs a warning if the operations listener can be reached from
// beyond this machine and its private network: it has no password.
func (n *node) warnPublicOps(addr net.Addr) {
	if !ofWorld(addr.String()) {
		return
	}
	n.log.Warn("the operations listener can be reached from other networks and has no password: bind --ops-addr to a loopback or private address, or guard it by a firewall",
		"addr", addr.String())
}

// ofWorld reports whether an address is one of the public network, or stands for
// all addresses of this machine.
func ofWorld(addr string) bool {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return false // of no network
	}
	ip := to.Addr().Unmap()
	return ip.IsUnspecified() || ip.IsGlobalUnicast() && !ip.IsPrivate()
}

// tcp returns how to listen for TCP alone: the kernel's Multipath TCP, which Go asks for
// otherwise, has no timeout of unacknowledged data.
func tcp() *net.ListenConfig {
	c := new(net.ListenConfig)
	c.SetMultipathTCP(false)
	return c
}

// openSocket listens on the address that a flag gave.
func (n *node) openSocket(flag, addr string) (net.Listener, error) {
	l, err := tcp().Listen(context.Background(), "tcp", addr)
	if err == nil {
		return l, nil
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	return nil, fmt.Errorf("%s: cannot listen on %s: %w", n.Origins.Blame(flag), addr, err)
}

// inherited returns the sockets that systemd hands over: the one named "ops"
// is for operations, any other for the public.
func inherited() (*sockets, error) {
	named, err := activation.ListenersWithNames()
	if err != nil {
		return nil, fmt.Errorf("the sockets of systemd cannot be used: %w", err)
	}
	s := &sockets{}
	for name, all := range named {
		for _, l := range all {
			to := &s.public
			if name == "ops" {
				to = &s.ops
			}
			if *to != nil {
				return nil, fmt.Errorf("systemd hands over two sockets where one is expected: %s and %s", (*to).Addr(), l.Addr())
			}
			*to = l
		}
	}
	return s, nil
}

// notifySystemd tells systemd how the service stands, if it asked.
func notifySystemd(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd could not be told", "state", state, "err", err)
	}
}

// LocalURL returns the URL of an address of this machine, also for one that
// stands for all of its addresses.
func LocalURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "http://" + addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"example.com/petstore/internal/config"
)

// sockets are the listeners of a server; ops is nil if there is none.
type sockets struct {
	public, ops net.Listener
	inherited   bool // whether systemd opened the public one
}

func (s *sockets) close() {
	for _, l := range []net.Listener{s.public, s.ops} {
		if l != nil {
			l.Close() // it is closed already if a server has used it
		}
	}
}

// progressTimeout is after how long without progress a connection with unsent data is
// closed.
const progressTimeout = 30 * time.Second

// listen uses the sockets that systemd passes, opens the others, and adds TLS to the
// public one if it is configured.
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
	if err = endWithoutProgress(s.public, progressTimeout); err == nil {
		s.public, err = n.secure(n.connections.Listener(s.public))
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// warnPublicOps logs a warning if the operations listener can be reached from
// beyond this machine and its private network: it has no password.
func warnPublicOps(log *slog.Logger, addr net.Addr) {
	if !isPublic(addr.String()) {
		return
	}
	log.Warn("the operations listener can be reached from other networks and has no password: bind --ops-addr to a loopback or private address, or guard it by a firewall",
		"addr", addr.String())
}

// warnTrustAll logs a warning if everybody is trusted as a proxy.
func (n *node) warnTrustAll() {
	if everybody := func(p netip.Prefix) bool { return p.Bits() == 0 }; slices.ContainsFunc(n.Config.TrustedProxies, everybody) {
		n.log.Warn("every caller is trusted as a proxy, and can choose the address that is counted: give --trusted-proxies only the addresses of your proxies")
	}
}

// isPublic reports whether an address belongs to the public network, or stands for all
// addresses of this machine.
func isPublic(addr string) bool {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return false // not an IP address
	}
	ip := to.Addr().Unmap()
	return ip.IsUnspecified() || ip.IsGlobalUnicast() && !ip.IsPrivate()
}

// tcp returns a ListenConfig without Multipath TCP, which Go enables by default: the
// kernel has no timeout for unacknowledged data there.
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

// inherited returns the sockets that systemd passes: the one named "ops" is the
// operations listener, any other the public one.
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

// notifySystemd notifies systemd of the service's state, if systemd has started it.
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

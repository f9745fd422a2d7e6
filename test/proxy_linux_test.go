package test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/test/servertest"
)

// A proxy is a program with its file of deploy/proxy. In changes, around and args, PROXY is the address of the proxy, PORT its
// port, SERVER the address of the server, OPSPORT the port of its operations listener, and DIR a folder with the certificate.
type proxy struct {
	program, file string
	flags         []string // of petstore serve
	changes       []string // in the file: pairs of a text and what replaces it
	around        string   // what includes the file, which is FILE there; "" if it stands alone
	args          []string
}

func proxies() map[string]proxy {
	caddy := proxy{program: "caddy", file: "Caddyfile", args: []string{"run", "--adapter=caddyfile", "--config=DIR/proxy"}, changes: []string{
		"pets.example.com {", "{\n\tadmin off\n\tauto_https disable_redirects\n}\nhttps://pets.example.com:PORT {\n\tbind 127.0.0.1\n\ttls DIR/cert.pem DIR/key.pem",
		"127.0.0.1:8080", "SERVER",
	}}
	haproxy := proxy{program: "haproxy", file: "haproxy.cfg", args: []string{"-db", "-f", "DIR/proxy"}, changes: []string{
		"    bind :80\n", "", "bind :443", "bind PROXY", "/etc/haproxy/pets.example.com.pem", "DIR/both.pem", "127.0.0.1:8080", "SERVER", "port 9090", "port OPSPORT",
		"    user haproxy\n    group haproxy\n    maxconn 4000", "    maxconn 100", // no user to change to, and no limit of descriptors to raise
	}}
	nginx := proxy{program: "nginx", file: "nginx.conf", args: []string{"-p", "DIR", "-c", "DIR/proxy", "-e", "stderr"}, changes: []string{
		"listen 80;", "listen unix:DIR/socket;", "listen 443", "listen PROXY", "127.0.0.1:8080", "SERVER",
		"/etc/ssl/petstore/fullchain.pem", "DIR/cert.pem", "/etc/ssl/petstore/privkey.pem", "DIR/key.pem",
	}, around: "daemon off; master_process off; pid DIR/pid; error_log stderr; events {}\nhttp { access_log off; gzip on; gzip_types *; client_body_temp_path DIR/1;" +
		" proxy_temp_path DIR/2; fastcgi_temp_path DIR/3; uwsgi_temp_path DIR/4; scgi_temp_path DIR/5;\nFILE\n}\n"}
	inside2 := func(p proxy, old, by string) proxy {
		p.flags, p.changes = []string{"--h2c=on"}, append([]string{old, by}, p.changes...)
		return p
	}
	return map[string]proxy{
		"nginx": nginx, "Caddy": caddy, "HAProxy": haproxy,
		"Caddy, HTTP/2 inside":   inside2(caddy, "# versions h2c", "versions h2c"),
		"HAProxy, HTTP/2 inside": inside2(haproxy, "port 9090", "port OPSPORT proto h2 check-proto h1"),
	}
}

// start runs the proxy in front of a demo. It returns the key of the demo, and what makes clients that reach the proxy from
// an address of the loopback.
func (p proxy) start(t *testing.T) (key string, from func(ip string) *http.Client) {
	t.Helper()
	program, dir := servertest.Need(t, p.program, p.program), t.TempDir()
	addr, server := servertest.FreeAddr(t), servertest.FreeAddr(t)
	d := newDemo(t, append(p.flags, "--addr="+server, "--base-url=https://pets.example.com", "--trusted-proxies=127.0.0.1/32")...)
	_, port, _ := net.SplitHostPort(addr)
	names := strings.NewReplacer("DIR", dir, "PROXY", addr, "SERVER", server, "OPSPORT", d.ops[strings.LastIndex(d.ops, ":")+1:], "PORT", port)
	p.configure(t, dir, names)
	args := make([]string, len(p.args))
	for i, arg := range p.args {
		args[i] = names.Replace(arg)
	}
	servertest.Started(t, []string{"HOME=" + dir}, program, args...)
	return d.key, func(ip string) *http.Client {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		to := &http.Transport{
			ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // its own certificate
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) },
		}
		t.Cleanup(to.CloseIdleConnections)
		return &http.Client{Timeout: servertest.Patience, Transport: to}
	}
}

// configure writes the file of the proxy, as it is for the test, and a certificate into dir.
func (p proxy) configure(t *testing.T, dir string, names *strings.Replacer) {
	t.Helper()
	cert, secret, err := processtest.WriteCertificate(dir, "pets.example.com")
	must(t, err)
	config := servertest.Text(t, "../deploy/proxy/"+p.file)
	for i := 0; i < len(p.changes); i += 2 {
		if !strings.Contains(config, p.changes[i]) {
			t.Fatalf("deploy/proxy/%s has no %q", p.file, p.changes[i])
		}
	}
	config = strings.NewReplacer(p.changes...).Replace(config)
	if p.around != "" {
		config = strings.Replace(p.around, "FILE", config, 1)
	}
	for name, text := range map[string]string{"proxy": names.Replace(config), "both.pem": servertest.Text(t, cert) + servertest.Text(t, secret)} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// TestProxies uses the server through each proxy that docs/operations.md has a file for: a list, a change with If-Match, a stream of
// events, and the limits of an address.
func TestProxies(t *testing.T) {
	t.Parallel()
	const site = "https://pets.example.com"
	for name, p := range proxies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, from := p.start(t)
			client := from("127.0.0.2")
			ask := func(c *http.Client, r servertest.Request) servertest.Answer {
				r.URL = site + r.URL
				a, err := servertest.Send(t.Context(), c, r)
				must(t, err)
				return a
			}
			servertest.Eventually(t, "the proxy reaches the server", func() bool {
				a, err := servertest.Send(t.Context(), client, servertest.Request{Method: "GET", URL: site + "/openapi.json"})
				return err == nil && a.Status == http.StatusOK
			})
			packed := map[string]string{"Accept-Encoding": "gzip"}
			list := ask(client, servertest.Request{Method: "GET", URL: "/pets?limit=100", Key: key, Header: packed})
			if list.Status != http.StatusOK || list.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("GET /pets = %d %v, want a list that the server compressed", list.Status, list.Header)
			}
			pet := ask(client, servertest.Request{Method: "GET", URL: "/pets/1", Key: key, Header: packed})
			change := servertest.Request{Method: "PATCH", URL: "/pets/1", Key: key, Body: `{"name":"Rex"}`, Header: map[string]string{
				"If-Match": pet.Header.Get("ETag"), "Content-Type": "application/merge-patch+json",
			}}
			streamed(t, client, site+"/events", key, func() {
				if a := ask(client, change); a.Status != http.StatusOK {
					t.Errorf("PATCH with the ETag %s = %d %s, want 200", pet.Header.Get("ETag"), a.Status, a.Body)
				}
			})
			for _, c := range []struct{ ip, left string }{{"127.0.0.3", "59"}, {"127.0.0.3", "58"}, {"127.0.0.4", "59"}} {
				forged := map[string]string{"X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.2"}
				if a := ask(from(c.ip), servertest.Request{Method: "GET", URL: "/pets", Header: forged}); a.Header.Get("X-RateLimit-Remaining") != c.left {
					t.Errorf("without a key, %s has %s requests left, want %s", c.ip, a.Header.Get("X-RateLimit-Remaining"), c.left)
				}
			}
		})
	}
}

// streamed opens a stream of new events, makes a change, and waits until the event of it arrives.
func streamed(t *testing.T, client *http.Client, url, key string, change func()) {
	t.Helper()
	last, err := servertest.Send(t.Context(), client, servertest.Request{Method: "GET", URL: url + "?limit=1", Key: key})
	must(t, err)
	end := regexp.MustCompile(`after=(\d+)[^>]*>; rel="last"`).FindStringSubmatch(fmt.Sprint(last.Header["Link"]))
	if end == nil {
		t.Fatalf("GET /events = %d %v, want a link to the end", last.Status, last.Header)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"?after="+end[1], nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	change()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"pet.updated"`) {
			return
		}
	}
	t.Error("the stream ends without the event")
}

//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// A herd sends requests from many clients without a pause. None of them may
// fail.
type herd struct {
	url, key string
	sent     atomic.Int64
	mu       sync.Mutex
	failed   []error
	stop     context.CancelFunc
	all      sync.WaitGroup
}

// startHerd lets half of the clients keep their connections, and the others open
// one for each request: those see what a client library would hide by trying
// again.
func startHerd(url, key string, n int) *herd {
	ctx, stop := context.WithCancel(context.Background())
	h := &herd{url: url, key: key, stop: stop}
	for i := range n {
		c := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{DisableKeepAlives: i%2 == 0}}
		h.all.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				if err := h.request(c, i, j); err != nil {
					h.mu.Lock()
					h.failed = append(h.failed, err)
					h.mu.Unlock()
				}
				h.sent.Add(1)
			}
			c.CloseIdleConnections()
		})
	}
	return h
}

func (h *herd) request(c *http.Client, client, number int) error {
	method, path, body := "GET", "/pets?limit=5", ""
	if number%4 == 0 {
		method, path, body = "POST", "/categories", `{"name":"Kind"}`
	}
	req, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", fmt.Sprintf("%d-%d", client, number))
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s = %d %s", method, path, resp.StatusCode, text)
	}
	return err
}

// end returns what failed.
func (h *herd) end() error {
	h.stop()
	h.all.Wait()
	if len(h.failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d requests failed, such as: %w", len(h.failed), h.sent.Load(), h.failed[0])
}

// more waits until n more requests are answered.
func (h *herd) more(n int64) {
	for until, deadline := h.sent.Load()+n, time.Now().Add(servertest.Patience); h.sent.Load() < until && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // between two polls
	}
}

// restarts stops and starts a server under load, which inherits its socket as
// from systemd. It returns how many requests were answered, and an error if one
// failed.
func restarts(binary servertest.Binary, dir string, times int) (int64, error) {
	if err := binary.NewWorkspace(dir, "shop"); err != nil {
		return 0, err
	}
	k, err := binary.NewKey(dir, "shop")
	if err != nil {
		return 0, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		return 0, err
	}
	defer socket.Close()
	options := servertest.Options{
		Dir: dir, Files: []*os.File{socket}, Shell: "export LISTEN_PID=$$", Flags: []string{"--log-level=warn"},
		Env: []string{"LISTEN_FDS=1", "LISTEN_FDNAMES=petstore.socket"},
	}
	server, err := binary.Serve(options)
	if err != nil {
		return 0, err
	}
	h := startHerd("http://"+l.Addr().String(), k.Key, 16)
	for range times {
		h.more(200)
		if err = server.Stop(); err != nil {
			break
		}
		if server, err = binary.Serve(options); err != nil {
			return 0, errors.Join(err, h.end())
		}
	}
	h.more(200)
	err = errors.Join(err, h.end())
	return h.sent.Load(), errors.Join(err, server.Stop())
}

func TestRestarts(t *testing.T) {
	sent, err := restarts(petstore, t.TempDir(), 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("10 restarts: %d requests, none failed", sent)
}

// A caller is a client of a shop on the plan free.
type caller struct {
	url, key string
}

// get asks for the pets, and returns the status, the code of an error, and how
// many requests are left.
func (c caller) get() (status int, code, left string, err error) {
	req, err := http.NewRequest("GET", c.url+"/pets", nil)
	if err != nil {
		return 0, "", "", err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer resp.Body.Close()
	var e struct{ Code string }
	if resp.StatusCode >= 400 {
		err = json.NewDecoder(resp.Body).Decode(&e)
	}
	return resp.StatusCode, e.Code, resp.Header.Get("X-RateLimit-Remaining"), err
}

// limited starts a server with a caller on the plan free.
func limited(binary servertest.Binary, dir string, flags ...string) (*servertest.Server, caller, error) {
	if err := binary.NewWorkspace(dir, "shop", "free"); err != nil {
		return nil, caller{}, err
	}
	k, err := binary.NewKey(dir, "shop")
	if err != nil {
		return nil, caller{}, err
	}
	server, err := binary.Serve(servertest.Options{Dir: dir, Flags: flags})
	if err != nil {
		return nil, caller{}, err
	}
	return server, caller{server.URL, k.Key}, nil
}

// told polls "key list" until it says want, for five seconds at most.
func told(binary servertest.Binary, dir, want string) {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if out, err := binary.Run(dir, "key", "list", "shop", "-o=json"); err == nil && strings.Contains(out, want) {
			return
		}
		time.Sleep(50 * time.Millisecond) // between two polls
	}
}

// banOutlivesKill bans a key, kills the server, and asks again.
func banOutlivesKill(binary servertest.Binary, dir string) error {
	flags := []string{"--ban-strikes=1", "--ban-grace=0s"}
	server, c, err := limited(binary, dir, flags...)
	if err != nil {
		return err
	}
	code := ""
	for range 100 {
		if _, code, _, err = c.get(); err != nil || code == "api_key_banned" {
			break
		}
	}
	if code != "api_key_banned" {
		server.Kill()
		return fmt.Errorf("100 requests did not lead to a ban, but to %q: %w", code, err)
	}
	told(binary, dir, "bannedUntil")
	server.Kill()
	if server, err = binary.Serve(servertest.Options{Dir: dir, Flags: flags}); err != nil {
		return err
	}
	defer server.Kill()
	c.url = server.URL
	status, code, _, err := c.get()
	if err == nil && code != "api_key_banned" {
		err = fmt.Errorf("after a kill the banned key is answered %d %s", status, code)
	}
	return err
}

// countsOutliveKill spends a part of a day, kills the server more than a second
// later, and asks what is left.
func countsOutliveKill(binary servertest.Binary, dir string) error {
	server, c, err := limited(binary, dir)
	if err != nil {
		return err
	}
	for range 30 {
		if _, _, _, err := c.get(); err != nil {
			return err
		}
	}
	told(binary, dir, `"usedToday": 30`)
	server.Kill()
	if server, err = binary.Serve(servertest.Options{Dir: dir}); err != nil {
		return err
	}
	defer server.Kill()
	c.url = server.URL
	_, _, left, err := c.get()
	if err == nil && left != "29" {
		err = fmt.Errorf("after 30 requests, a kill and one more, %s of 60 are left", left)
	}
	return err
}

func TestBanOutlivesKill(t *testing.T) {
	if err := banOutlivesKill(petstore, t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

func TestCountsOutliveKill(t *testing.T) {
	if err := countsOutliveKill(petstore, t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

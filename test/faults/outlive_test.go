//go:build linux

package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// A caller is a client of a shop on the plan free.
type caller struct {
	url, key string
}

// get asks for the pets.
func (c caller) get() (servertest.Answer, error) {
	return servertest.Send(context.Background(), http.DefaultClient, servertest.Request{Method: http.MethodGet, URL: c.url + "/pets", Key: c.key})
}

// limited starts a server with a caller on the plan free.
func limited(binary servertest.Binary, dir string, flags ...string) (*servertest.Server, caller, error) {
	k, err := binary.NewShop(dir, "shop", "free")
	if err != nil {
		return nil, caller{}, err
	}
	server, err := binary.Serve(servertest.Options{Dir: dir, Flags: flags})
	if err != nil {
		return nil, caller{}, err
	}
	return server, caller{server.URL, k.Key}, nil
}

// told polls "key list" until it says want, or what follows finds out that it does not.
func told(binary servertest.Binary, dir, want string) {
	for deadline := time.Now().Add(servertest.Patience); time.Now().Before(deadline); {
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
	var a servertest.Answer
	for range 100 {
		if a, err = c.get(); err != nil || a.Code == "api_key_banned" {
			break
		}
	}
	if a.Code != "api_key_banned" {
		server.Kill()
		return fmt.Errorf("100 requests did not lead to a ban, but to %q: %w", a.Code, err)
	}
	told(binary, dir, "bannedUntil")
	server.Kill()
	if server, err = binary.Serve(servertest.Options{Dir: dir, Flags: flags}); err != nil {
		return err
	}
	defer server.Kill()
	c.url = server.URL
	a, err = c.get()
	if err == nil && a.Code != "api_key_banned" {
		err = fmt.Errorf("after a kill the banned key is answered %d %s", a.Status, a.Code)
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
		if _, err := c.get(); err != nil {
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
	a, err := c.get()
	if left := a.Header.Get("X-RateLimit-Remaining"); err == nil && left != "29" {
		err = fmt.Errorf("after 30 requests, a kill and one more, %s of 60 are left", left)
	}
	return err
}

func TestBanOutlivesKill(t *testing.T) {
	t.Parallel()
	if err := banOutlivesKill(petstore, t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

func TestCountsOutliveKill(t *testing.T) {
	t.Parallel()
	if err := countsOutliveKill(petstore, t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

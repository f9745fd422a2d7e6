//go:build linux

package faults

import (
	"encoding/json"
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

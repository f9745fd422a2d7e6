package faults

import (
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// TestBanOutlivesKill: a key that was banned before the server was killed is banned after it. That counts outlive a kill
// is tried by [fullForCounts].
func TestBanOutlivesKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := petstore.Shop(t, dir, "shop", "free")
	serve := func() (*servertest.Server, func() bool) {
		s := petstore.Start(t, servertest.Options{Dir: dir, Flags: []string{"--ban-strikes=1", "--ban-grace=0s"}})
		return s, func() bool {
			a, err := servertest.Send(t.Context(), http.DefaultClient, servertest.Request{Method: http.MethodGet, URL: s.URL + "/pets", Key: k.Key})
			return err == nil && a.Code == "api_key_banned"
		}
	}
	server, banned := serve()
	servertest.Eventually(t, "the key is banned", banned)
	servertest.Eventually(t, "the ban is stored", func() bool {
		out, err := petstore.Run(dir, "key", "list", "shop", "-o=json")
		return err == nil && strings.Contains(out, "bannedUntil")
	})
	server.Kill()
	if _, banned = serve(); !banned() {
		t.Error("after a kill the key is no longer banned")
	}
}

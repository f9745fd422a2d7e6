package httpapi

import (
	"fmt"
	"net/http"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

func accountRoutes() []route {
	return []route{{at: "GET /account", id: "getAccount", scope: access.Read, handle: getAccount, free: true}}
}

// getAccount answers with the caller's workspace, key and limits. It spends no quota.
func getAccount(x *exchange) error {
	w, k := x.entry.Workspace, x.entry.Key
	b := fmt.Appendf(nil, `{"workspace":{"id":%d,"name":%s},"plan":"%s","key":`, w.ID, petstore.JSON(w.Name), w.Plan)
	b = petstore.AppendJSON(b, k)
	b = fmt.Appendf(b[:len(b)-1], `,"strikesLeft":%d},"limits":{"minute":%s,"day":%s}}`, x.decision.StrikesLeft, windowJSON(x.decision.Minute), windowJSON(x.decision.Day))
	if w.Sandbox != nil {
		b = fmt.Appendf(b[:len(b)-1], `,"sandbox":{"expiresAt":"%s"}}`, petstore.At(w.Sandbox.ExpiresAt))
	}
	x.send(http.StatusOK, "application/json", b)
	return nil
}

func windowJSON(w ratelimit.Window) string {
	return fmt.Sprintf(`{"limit":%d,"used":%d,"remaining":%d,"reset":%d}`, w.Limit, w.Used, w.Remaining(), w.Reset)
}

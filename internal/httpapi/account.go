package httpapi

import (
	"net/http"
	"strconv"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

func accountPaths() []path {
	return []path{{pattern: "/account", routes: []route{
		{method: "GET", id: "getAccount", scope: access.Read, handle: getAccount, free: true},
	}}}
}

// getAccount says what the limiter and the keys know of the caller. It spends
// no quota.
func getAccount(x *exchange) error {
	w, k := x.entry.Workspace, x.entry.Key
	b := append(make([]byte, 0, 512), `{"workspace":{"id":`...)
	b = strconv.AppendInt(b, w.ID, 10)
	b = append(b, `,"name":`...)
	b = petstore.AppendString(b, w.Name)
	b = append(b, `},"plan":"`...)
	b = append(b, w.Plan...)
	b = append(b, `","key":`...)
	b = k.AppendFacts(b)
	b = append(b, `,"strikesLeft":`...)
	b = strconv.AppendInt(b, int64(x.decision.StrikesLeft), 10)
	b = append(b, `},"limits":{"minute":`...)
	b = appendWindow(b, x.decision.Minute)
	b = append(b, `,"day":`...)
	b = appendWindow(b, x.decision.Day)
	x.send(http.StatusOK, "application/json", append(b, "}}"...))
	return nil
}

func appendWindow(dst []byte, w ratelimit.Window) []byte {
	dst = append(dst, `{"limit":`...)
	dst = strconv.AppendInt(dst, w.Limit, 10)
	dst = append(dst, `,"used":`...)
	dst = strconv.AppendInt(dst, w.Used, 10)
	dst = append(dst, `,"remaining":`...)
	dst = strconv.AppendInt(dst, w.Remaining(), 10)
	dst = append(dst, `,"reset":`...)
	dst = strconv.AppendInt(dst, w.Reset, 10)
	return append(dst, '}')
}

package page

import (
	"errors"
	"net/http"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

// retryShare is after how many seconds to ask again for a share.
const retryShare = 10

// Hold returns what gives a share of the pool back, once there is one for the workspace. Else it answers why there is none,
// and returns ErrRefused: title names what there are too many of, and each says what the workspace has already. The pool
// calls yield, unless it is nil, when the share has to give way.
func (v *Visit) Hold(pool *fairshare.Pool, yield func(), title, each string) (leave func(), err error) {
	share, err := pool.Enter(v.R.Context(), fairshare.Holder{Workspace: v.guest.Workspace()}, 1, yield)
	if err == nil {
		return share.Leave, nil
	}
	v.RetryAfter(retryShare)
	switch {
	case errors.Is(err, fairshare.ErrEach):
		v.Refuse(http.StatusTooManyRequests, title, each)
	case errors.Is(err, fairshare.ErrFull):
		v.Refuse(http.StatusServiceUnavailable, title, "This service has as many of them open as it can. Try again later.")
	default:
		return nil, petstore.Unavailable(err)
	}
	return nil, ErrRefused
}

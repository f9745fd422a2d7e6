package console

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"time"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

// shares bound what lasts: for a workspace, whatever its sessions, and, but for downloads, for the process.
type shares struct {
	streams   *fairshare.Pool // live pages; the oldest of the workspace that has most end for others
	downloads *fairshare.Pool // each holds a buffer and its connection; its reads take their turn page by page
	imports   *fairshare.Pool // files that are read into the store
}

// How many there are at once of each, and how long one waits for its turn.
const (
	mostStreams    = 256
	streamsOfOne   = 20 // workspace
	defaultImports = 4
	importWait     = 30 * time.Second
	mostWaiting    = 64
)

func newShares(imports int) shares {
	return shares{
		streams:   fairshare.New(fairshare.Options{Capacity: mostStreams, Each: streamsOfOne}),
		downloads: fairshare.New(fairshare.Options{Capacity: math.MaxInt32, Each: 1}),
		imports:   fairshare.New(fairshare.Options{Capacity: int64(cmp.Or(imports, defaultImports)), Each: 1, Queue: mostWaiting, Wait: importWait}),
	}
}

// hold returns what gives a share of the pool back, once there is one.
func (v *visit) hold(pool *fairshare.Pool, yield func()) (leave func(), err error) {
	holder := fairshare.Holder{} // the operators'
	if v.who != nil {
		holder.Workspace = v.who.Workspace.ID
	}
	share, err := pool.Enter(v.r.Context(), holder, 1, yield)
	if err != nil {
		return nil, err
	}
	return share.Leave, nil
}

// refuseShare answers why there is no share, and returns errRefused. each says what the workspace has already.
func (v *visit) refuseShare(err error, title, each string) error {
	v.retryAfter(retryShare)
	switch {
	case errors.Is(err, fairshare.ErrEach):
		v.refuse(http.StatusTooManyRequests, title, each)
	case errors.Is(err, fairshare.ErrFull):
		v.refuse(http.StatusServiceUnavailable, title, "This service has as many of them open as it can. Try again later.")
	default:
		return petstore.Unavailable(err)
	}
	return errRefused
}

// retryShare is after how many seconds to ask again for a share.
const retryShare = 10

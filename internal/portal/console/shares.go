package console

import (
	"context"
	"errors"
	"net/http"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

// shares bound what lasts or takes memory: for a workspace, whatever its sessions, and for the process.
type shares struct {
	streams   *fairshare.Pool // live pages; the oldest of the workspace that has most end for others
	downloads *fairshare.Pool
	uploads   *fairshare.Pool // bytes of files that are on their way or wait; they end for others
	imports   *fairshare.Pool // files that are read into the store
}

func newShares() shares {
	return shares{
		streams:   fairshare.New(fairshare.Options{Capacity: 256, Each: 20}),
		downloads: fairshare.New(fairshare.Options{Capacity: 64, Each: 1, Queue: 64, Wait: downloadWait}),
		uploads:   fairshare.New(fairshare.Options{Capacity: mostUploads, Each: maxUpload + maxForm, Queue: 64, Wait: uploadWait}),
		imports:   fairshare.New(fairshare.Options{Capacity: mostImports, Each: 1, Queue: 64, Wait: importWait}),
	}
}

// A held is a share that a visit holds.
type held struct {
	context.Context // ends when the share has to give way, with errGaveWay as its cause, or with the request
	leave           func()
}

var errGaveWay = errors.New("the share is needed by another workspace")

// hold returns a share of size units, once there is one. With wake the share may have to give way: then the context ends,
// and wake is called, which must end what the visit waits for.
func (v *visit) hold(ctx context.Context, pool *fairshare.Pool, size int64, wake func()) (*held, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var yield func()
	if wake != nil {
		yield = func() { cancel(errGaveWay) }
	}
	holder := fairshare.Holder{} // the operators'
	if v.who != nil {
		holder.Workspace = v.who.Workspace.ID
	}
	share, err := pool.Enter(ctx, holder, size, yield)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	h := &held{ctx, func() { share.Leave(); cancel(nil) }}
	if wake == nil {
		return h, nil
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { wake(); close(woken) })
	h.leave = func() {
		share.Leave()
		if !stop() { // wake must not reach what the connection is used for next
			<-woken
		}
		cancel(nil)
	}
	return h, nil
}

// refuseShare answers why there is no share, and returns errRefused. each says what the workspace has already.
func (v *visit) refuseShare(err error, title, each string) error {
	v.retryAfter(retryShare)
	switch {
	case errors.Is(err, fairshare.ErrEach):
		v.refuse(http.StatusTooManyRequests, title, each)
	case errors.Is(err, fairshare.ErrFull), errors.Is(err, errGaveWay):
		v.refuse(http.StatusServiceUnavailable, title, "This service has as many of them open as it can. Try again later.")
	default:
		return petstore.Unavailable(err)
	}
	return errRefused
}

// retryShare is after how many seconds to ask again for a share.
const retryShare = 10

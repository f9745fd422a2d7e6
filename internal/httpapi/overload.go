package httpapi

import (
	"context"
	"time"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

const (
	// maxWaiting is how many more operations may wait, those of one workspace half as many.
	maxWaiting = 8192
	// admissionWait is how long each of them waits at most. It is long enough for a busy machine to serve the clients
	// that waited for a restart. Waiting costs nothing, but refusing a request costs almost as much as serving it,
	// and a client that is refused at once tries again at once.
	admissionWait = 3 * time.Second
)

// errOverloaded is returned for a request that was not admitted in time. It wraps no
// cause, so only the access log mentions it.
var errOverloaded = &petstore.Error{
	Code: petstore.CodeServiceUnavailable, RetryAfter: time.Second,
	Message: "The server is overloaded. Nothing was changed; try again after a second.",
}

// newPool returns a pool that limits how many reads, or how many writes, are carried out at once. They have separate
// limits, since a store that cannot be written to can still be read. No share is held while bytes are received from a
// client or sent to one.
func newPool(most int) *fairshare.Pool {
	return fairshare.New(fairshare.Options{Capacity: int64(most), Queue: maxWaiting, Wait: admissionWait})
}

// begin waits for a share of the pool, until ctx ends. The caller has to leave the share.
func (x *exchange) begin(ctx context.Context, in *fairshare.Pool) (*fairshare.Share, error) {
	share, err := in.Enter(ctx, x.holder(), 1, nil)
	if err != nil {
		return nil, errOverloaded
	}
	return share, nil
}

// holder returns the client that the request is counted for: the workspace of its key,
// or its address.
func (x *exchange) holder() fairshare.Holder {
	if x.byAddress() {
		return fairshare.HolderAt(x.addr)
	}
	return fairshare.Holder{Workspace: x.entry.Workspace.ID}
}

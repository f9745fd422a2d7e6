package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

// How many operations of a kind are carried out at once, unless Options say. Reads only need enough to keep the processors
// and the connections to a database busy: more would each take longer. Writes fill two groups: while one is committed, the
// next gathers.
const (
	defaultReads  = 128
	defaultWrites = 512
)

const (
	// maxWaiting is how many more may wait.
	maxWaiting = 4096
	// admissionWait is how long each of them waits at most: as long as a busy machine needs for those who waited for a
	// restart. Waiting costs nothing, but to refuse costs the processor a good part of what it costs to serve, and a
	// caller who is refused at once asks again at once.
	admissionWait = 3 * time.Second
)

// errOverloaded refuses a request that was not admitted in time. It has no cause to log:
// the access log has its line.
var errOverloaded = &petstore.Error{
	Code: petstore.CodeServiceUnavailable, RetryAfter: time.Second,
	Message: "The server is overloaded. Nothing was changed; try again after a second.",
}

// A workload bounds how many requests are carried out at once, of each of the two kinds, since reads and writes wait for
// different things: a store that cannot write can still be read. Nothing of it is held while bytes come from a client or
// go to one.
type workload struct{ reads, writes *fairshare.Pool }

func newWorkload(reads, writes int) workload {
	pool := func(most int) *fairshare.Pool {
		return fairshare.New(fairshare.Options{Capacity: int64(most), Queue: maxWaiting, Wait: admissionWait})
	}
	return workload{pool(cmp.Or(reads, defaultReads)), pool(cmp.Or(writes, defaultWrites))}
}

// of returns the pool of an operation with the method.
func (l *workload) of(method string) *fairshare.Pool {
	if method == http.MethodGet {
		return l.reads
	}
	return l.writes
}

// begin waits until a request of the caller may be carried out, as long as ctx lasts, and returns what ends that.
func (x *exchange) begin(ctx context.Context, in *fairshare.Pool) (*fairshare.Share, error) {
	share, err := in.Enter(ctx, x.holder(), 1, nil)
	if err != nil {
		return nil, errOverloaded
	}
	return share, nil
}

// holder returns for whom the request counts: the workspace of its key, or its address.
func (x *exchange) holder() fairshare.Holder {
	if x.byAddress() {
		return fairshare.HolderAt(x.addr)
	}
	return fairshare.Holder{Workspace: x.entry.Workspace.ID}
}

package petstore

import "context"

// A Service does what can be done in every workspace: it checks input, knows the rules
// and has the store carry them out. Its methods may be called concurrently.
//
// Methods that take a body return validation_failed, naming the members, for
// one that breaks a rule. Methods that take an id return pet_not_found,
// category_not_found or order_not_found. Methods that take a [Condition] return
// precondition_failed if it does not hold inside the transaction.
type Service struct {
	Store   // the reads
	running running
}

// NewService returns the service that keeps its workspaces in store.
func NewService(store Store) *Service { return &Service{Store: store} }

// A RowLimit is called before a row of the kind is created. It returns an error if there may
// be no more. Until release is called, it counts the new row as if it existed.
type RowLimit func(ctx context.Context, kind RowKind) (release func(), full error)

type rowLimitKey struct{}

// WithRowLimit returns a context in which the limit applies to new rows.
func WithRowLimit(ctx context.Context, limit RowLimit) context.Context {
	return context.WithValue(ctx, rowLimitKey{}, limit)
}

type originKey struct{}

type origin struct{ request, by string }

// OfRequest returns a context in which changes are recorded as caused by the request.
func OfRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, originKey{}, origin{request: id})
}

// ByKey returns a context in which changes are recorded as made with the API key with the
// id, in the same request.
func ByKey(ctx context.Context, id string) context.Context {
	request, _ := originOf(ctx)
	return context.WithValue(ctx, originKey{}, origin{request, id})
}

func originOf(ctx context.Context) (request, by string) {
	o, _ := ctx.Value(originKey{}).(origin)
	return o.request, o.by
}

// unknown returns the fault of a body that names a row that does not exist.
func unknown(pointer, what string, id int64) error {
	e := Errorf(CodeValidationFailed, "There is no %s with the id %d.", what, id)
	e.Fields = []Field{{Pointer: pointer, Code: NotFound, Message: e.Message}}
	return e
}

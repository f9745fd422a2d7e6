package move

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// How much is kept in one transaction.
const (
	maxRows  = 10_000
	maxBytes = 4 << 20
)

// A state is how far a move has come. The target keeps it in the transaction of
// the rows that lead to it.
type state struct {
	Source string            `json:"source"`
	Tables map[string]*place `json:"tables"`
}

// A place is how far a table has come.
type place struct {
	Rows  int64    `json:"rows"`
	After []string `json:"after"` // the source's key of the last row
	Whole bool     `json:"whole"`
}

// A batch is rows on their way.
type batch struct {
	rows  [][]any
	after []any // the source's key of the last row
	last  bool  // there are none behind it
	err   error
}

// copy moves what is missing of a table: one batch is read while the one before
// is written.
func (r *run) copy(ctx context.Context, t *table) error {
	at := r.state.Tables[t.Name]
	if at == nil {
		at = &place{}
		r.state.Tables[t.Name] = at
	}
	if at.Whole {
		return nil
	}
	after, err := parseKey(at.After)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	batches := make(chan batch)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.read(ctx, t, after, batches)
	}()
	defer func() { stop(); <-ended }() // the source is not read by two
	for {
		select {
		case b := <-batches:
			if b.err != nil {
				return cmp.Or(ctx.Err(), b.err) // a read that ctx ended says no more than that
			}
			if err := r.keep(ctx, t, at, b); err != nil || b.last {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read sends the rows of a table behind a key until the end, or that of ctx.
func (r *run) read(ctx context.Context, t *table, after []any, to chan<- batch) {
	send := func(b batch) bool {
		select {
		case to <- b:
			return true
		case <-ctx.Done():
			return false
		}
	}
	most := cmp.Or(r.atOnce, maxRows)
	var b batch
	size, n := 0, len(t.columns)
	err := r.From.Rows(t.Name, slices.Concat(t.columns, t.key), t.key, after, func(row []any) bool {
		b.rows, b.after, size = append(b.rows, row[:n:n]), row[n:], size+sizeOf(row)
		if len(b.rows) < most && size < maxBytes {
			return true
		}
		full := b
		b, size = batch{}, 0
		return send(full)
	})
	b.last, b.err = true, err
	send(b)
}

func sizeOf(row []any) int {
	n := 0
	for _, v := range row {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
		n += 8
	}
	return n
}

// keep writes a batch with the place that it leads to.
func (r *run) keep(ctx context.Context, t *table, at *place, b batch) error {
	next := place{Rows: at.Rows + int64(len(b.rows)), After: at.After, Whole: b.last}
	if b.after != nil {
		next.After = nil
		for _, value := range b.after {
			next.After = append(next.After, formatKey(value))
		}
	}
	before := *at
	*at = next
	text, err := json.Marshal(r.state)
	if err == nil {
		err = r.To.Keep(ctx, t.Table, b.rows, text)
	}
	if err != nil {
		*at = before
		return err
	}
	r.done += int64(len(b.rows))
	r.progress(Copying, r.done)
	return nil
}

// formatKey writes a value of a key so that parseKey finds it again, with its
// type.
func formatKey(value any) string {
	switch v := value.(type) {
	case int64:
		return "i" + strconv.FormatInt(v, 10)
	case string:
		return "s" + v
	case []byte:
		return "b" + base64.StdEncoding.EncodeToString(v)
	}
	panic(fmt.Sprintf("move: a key has a %T", value))
}

func parseKey(texts []string) (key []any, err error) {
	for _, text := range texts {
		var value any
		switch {
		case strings.HasPrefix(text, "i"):
			value, err = strconv.ParseInt(text[1:], 10, 64)
		case strings.HasPrefix(text, "s"):
			value = text[1:]
		case strings.HasPrefix(text, "b"):
			value, err = base64.StdEncoding.DecodeString(text[1:])
		default:
			err = fmt.Errorf("the state of the move has the key %q", text)
		}
		if err != nil {
			return nil, err
		}
		key = append(key, value)
	}
	return key, nil
}

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sqlite"
)

// onCopy runs f on a temporary copy: of the whole database if that is a file,
// else of the workspace, in a file.
func (a *app) onCopy(ctx context.Context, db node.Store, workspace string, f func(node.Store) error) (err error) {
	dir, err := os.MkdirTemp("", "petstore-dry-run-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "copy.db")
	if file, yes := db.(node.FileStore); yes {
		if err := file.CopyTo(ctx, path); err != nil {
			return err
		}
	}
	raw, err := sqlite.Open(ctx, path, sqlite.Options{Now: a.now, Readers: 1})
	if err != nil {
		return err
	}
	scratch := node.FileStore{DB: raw}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	if _, yes := db.(node.FileStore); !yes {
		if err := a.copyWorkspace(ctx, db, scratch, workspace); err != nil {
			return err
		}
	}
	return f(scratch)
}

// copyWorkspace makes a workspace of the same name with all that it has.
func (a *app) copyWorkspace(ctx context.Context, from, to node.Store, name string) error {
	w, err := from.Workspace(ctx, name)
	if err != nil {
		return err
	}
	made, err := to.CreateWorkspace(ctx, access.Workspace{Name: w.Name, Plan: w.Plan, Quota: w.Quota}, actor)
	if err != nil {
		return err
	}
	read, write := io.Pipe()
	go func() {
		out := interchange.NewWriter(write, interchange.NDJSON, interchange.Head{Workspace: w.Name, ExportedAt: petstore.At(a.now())})
		err := from.Dump(ctx, w.ID, out)
		if err == nil {
			err = out.Close()
		}
		write.CloseWithError(err) // never fails
	}()
	defer read.Close() // ends the writer too
	in, err := interchange.NewReader(read, interchange.NDJSON, interchange.Options{})
	if err != nil {
		return err
	}
	_, err = (&interchange.Import{From: in, To: to, Workspace: made.ID, Now: a.now}).Run(ctx)
	return err
}

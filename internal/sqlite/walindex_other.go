//go:build !unix

package sqlite

import "errors"

func mapIndex(string) (*walIndex, error) { return nil, errors.ErrUnsupported }

func (w *walIndex) close() {}

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"
)

// appends returns how many appends of 4 KiB become durable in a second, one after the other, on the core of the server.
func (b *bench) appends(ctx context.Context) (perSecond float64, err error) {
	err = onCores(func() (err error) {
		perSecond, err = appendDurably(ctx, filepath.Join(b.dir, "append"), b.round/3)
		return err
	}, serverCore)
	return perSecond, err
}

func appendDurably(ctx context.Context, path string, long time.Duration) (perSecond float64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	block := bytes.Repeat([]byte{'x'}, 4096)
	n, began := 0, time.Now()
	for ; time.Since(began) < long && ctx.Err() == nil; n++ {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := syncData(f); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), ctx.Err()
}

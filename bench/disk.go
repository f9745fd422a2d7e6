package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// measureDisk is the child that prints how many appends of 4 KiB below a folder
// become durable in a second, one after the other, measured for the time given.
func measureDisk(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("disk FOLDER DURATION")
	}
	long, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	rate, err := appendDurably(ctx, filepath.Join(args[0], "append"), long)
	if err != nil {
		return err
	}
	_, err = fmt.Println(rate)
	return err
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

// appends has the child measure the disk for a third of a round, on the core of the server.
func (b *bench) appends(ctx context.Context) (perSecond float64, err error) {
	cmd, err := child(ctx, "disk", b.dir, (b.round / 3).String())
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := startOn(cmd, serverCore); err != nil {
		return 0, err
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("measuring the disk: %w", err)
	}
	_, err = fmt.Fscan(&out, &perSecond)
	return perSecond, err
}

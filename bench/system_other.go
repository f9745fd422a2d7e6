//go:build !linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// The benchmark pins processes to cores and reads /proc: it runs on Linux only,
// and says so at its first step.
var errLinuxOnly = errors.New("the benchmark runs on Linux only")

func pinSelf(int) error               { return errLinuxOnly }
func startOn(*exec.Cmd, ...int) error { return errLinuxOnly }
func syncData(f *os.File) error       { return f.Sync() }
func kernel() string                  { return runtime.GOOS }
func fileSystem(string) string        { return "unknown" }
func processor() string               { return runtime.GOARCH }
func cores() int                      { return runtime.NumCPU() }

package processtest

import (
	"os/exec"
	"syscall"
)

// EndWithParent has the system kill the process that cmd is about to start when
// this one ends, however that comes. Only Linux can: elsewhere a process
// outlives a test that is killed.
func EndWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

package harness

import (
	"os/exec"
	"runtime"
	"syscall"
)

// runChild runs a process to its end and reports on started whether it began. The kernel kills the child when the
// thread that forked it ends, so that no child outlives a crashed test. So runChild keeps the thread.
func runChild(cmd *exec.Cmd, started chan<- error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err := cmd.Start()
	started <- err
	if err != nil {
		return err
	}
	return cmd.Wait()
}

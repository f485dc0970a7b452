//go:build !linux

package harness

import "os/exec"

// runChild runs a process to its end and reports on started whether it began.
func runChild(cmd *exec.Cmd, started chan<- error) error {
	err := cmd.Start()
	started <- err
	if err != nil {
		return err
	}
	return cmd.Wait()
}

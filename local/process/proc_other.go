//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes keeps a terminal's Ctrl-C from the child, because the parent stops its servers in order. This
// system cannot tie the child's life to the parent's. So the next start on the directory stops remaining processes.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// askToEnd requests a graceful end.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// startIdentity identifies one process for all time by the second of its start.
func startIdentity(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", os.ErrProcessDone
	}
	return strings.Join(strings.Fields(string(out)), "-"), nil
}

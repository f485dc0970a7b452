//go:build unix && !linux

package servers

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes keeps a terminal's Ctrl-C from the child: the parent stops its servers in its own order. There is no
// way here to tie the child's life to the parent's, so the next start on the directory stops what was left.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// askToEnd requests a graceful end.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// startIdentity names one process over all times by the second in which it began.
func startIdentity(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", os.ErrProcessDone
	}
	return strings.Join(strings.Fields(string(out)), "-"), nil
}

package servers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// childAttributes makes the kernel kill the child when the thread that forked it ends, and keeps a terminal's Ctrl-C
// from the child: the parent stops its servers in its own order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// askToEnd requests a graceful end.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// Fields of /proc/<pid>/stat, counted from the one after the parenthesised command name.
const (
	statState = 0
	statStart = 19
)

// startIdentity names one process over all times: the boot, and the clock ticks from it until the process began. A
// process that has ended but is not yet collected by its parent counts as gone.
func startIdentity(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name may contain spaces and parentheses; nothing after its last ")" does.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= statStart {
		return "", errors.New("unexpected format of process status")
	}
	if fields[statState] == "Z" && !hasThreads(pid) {
		return "", os.ErrProcessDone
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[statStart], nil
}

// hasThreads says whether threads of a process remain besides its first. That one may be dead already while the others,
// and with them open ports and files, still are not.
func hasThreads(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) > 1
}

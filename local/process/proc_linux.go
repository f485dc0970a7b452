package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// childAttributes makes the kernel kill the child when the thread that forked it ends. It also keeps a terminal's
// Ctrl-C from the child, because the parent stops its servers in order.
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

// startIdentity identifies one process for all time: by the boot, and by the clock ticks from the boot to the
// process's start. An ended process that its parent has not collected counts as gone.
func startIdentity(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name may contain spaces and parentheses; the text after its last ")" does not.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= statStart {
		return "", errors.New("unexpected format of process status")
	}
	if fields[statState] == "Z" && !hasThreads(pid) {
		return "", os.ErrProcessDone
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[statStart], nil
}

// hasThreads reports whether a process has threads besides the first. The first thread may be dead while others still
// hold open ports and files.
func hasThreads(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) > 1
}

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// leftoverGrace is the time for a leftover server to end by itself.
const leftoverGrace = 10 * time.Second

// writePid records a child, so that a later run can find it if this process dies first. The start identity detects a
// process number that the system has reused.
func writePid(file string, pid int) error {
	identity, err := startIdentity(pid)
	if err != nil {
		return fmt.Errorf("identify child: %w", err)
	}
	if err := replaceFile(file, fmt.Appendf(nil, "%d %s\n", pid, identity)); err != nil {
		return fmt.Errorf("record child: %w", err)
	}
	return nil
}

// stopLeftover ends the process in a pid file if it still is the same process. The caller holds the directory's lock,
// so the owner of the recorded process has ended.
func stopLeftover(ctx context.Context, file string, log io.Writer) error {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read record of an earlier run: %w", err)
	}
	pidText, identity, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	pid, err := strconv.Atoi(pidText)
	if err != nil || pid <= 1 {
		return fmt.Errorf("record of an earlier run is damaged: %s", file)
	}
	if !isProcess(pid, identity) {
		return os.Remove(file)
	}
	fmt.Fprintf(log, "stopping process %d, left over from an earlier run\n", pid)
	process, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find leftover process %d: %w", pid, err)
	}
	if err := endLeftover(ctx, process, identity); err != nil {
		return err
	}
	return os.Remove(file)
}

// endLeftover requests the end, waits and then kills.
func endLeftover(ctx context.Context, process *os.Process, identity string) error {
	_ = askToEnd(process)
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	deadline := time.Now().Add(leftoverGrace)
	for killed := false; isProcess(process.Pid, identity); {
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop leftover process %d: %w", process.Pid, ctx.Err())
		case <-tick.C:
		}
		if !killed && time.Now().After(deadline) {
			killed = true
			_ = process.Kill()
		}
	}
	return nil
}

// isProcess reports whether pid still is the process with the identity.
func isProcess(pid int, identity string) bool {
	now, err := startIdentity(pid)
	return err == nil && now == identity
}

package servers

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

// leftoverGrace is how long a leftover server may take to end by itself.
const leftoverGrace = 10 * time.Second

// writePid records a child so that a later run can find it when this process dies without a chance to end it. The
// start identity guards against a number that the system has given to another process since.
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

// stopLeftover ends the process that a pid file names, if it still is that process. The caller holds the directory's
// lock, so the owner of the recorded process is gone.
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

// endLeftover asks, waits and then kills.
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

// isProcess says whether pid still is the process that had the identity.
func isProcess(pid int, identity string) bool {
	now, err := startIdentity(pid)
	return err == nil && now == identity
}

package servers_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
)

// startSleeper starts an idle process. The channel is closed when it has ended.
func startSleeper(t *testing.T) (pid int, ended <-chan struct{}) {
	t.Helper()
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return cmd.Process.Pid, done
}

func TestStartStopsWhatAnEarlierRunLeft(t *testing.T) {
	ctx := testContext(t)
	dir := t.TempDir()
	pid, ended := startSleeper(t)
	if err := servers.WritePid(filepath.Join(dir, "temporal.pid"), pid); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := servers.StartTemporal(ctx, servers.Options{Dir: dir, Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, s)
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the leftover process lives")
	}
	if !strings.Contains(log.String(), "left over from an earlier run") {
		t.Errorf("the log says nothing about it: %q", log.String())
	}
}

func TestStartSparesAProcessThatOnlyHasTheSameNumber(t *testing.T) {
	ctx := testContext(t)
	dir := t.TempDir()
	pid, ended := startSleeper(t)
	file := filepath.Join(dir, "temporal.pid")
	if err := servers.WritePid(file, pid); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The same number, but a process with another start time.
	if err := os.WriteFile(file, []byte(strings.TrimSpace(string(raw))+"0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := servers.StartTemporal(ctx, servers.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, s)
	select {
	case <-ended:
		t.Fatal("a process that is not ours was ended")
	default:
	}
}

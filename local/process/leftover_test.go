package process

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	dir := t.TempDir()
	pid, ended := startSleeper(t)
	if err := writePid(filepath.Join(dir, "fake.pid"), pid); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	startFake(t, dir, &log, nil)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the leftover process lives")
	}
	if !strings.Contains(log.String(), "left over from an earlier run") {
		t.Errorf("the log says nothing about it: %q", log.String())
	}
}

func TestStartSparesAProcessThatOnlyHasTheSameNumber(t *testing.T) {
	dir := t.TempDir()
	pid, ended := startSleeper(t)
	file := filepath.Join(dir, "fake.pid")
	if err := writePid(file, pid); err != nil {
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
	startFake(t, dir, t.Output(), nil)
	select {
	case <-ended:
		t.Fatal("a process that is not ours was ended")
	default:
	}
}

package servers_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

// With these variables set, the test binary acts as the parent of a server. Tests kill it and then check the server.
const (
	helperEnv    = "LOCALSERVER_TEST_HELPER"
	helperDirEnv = "LOCALSERVER_TEST_DIR"
)

// runHelper starts the named server, prints its address and waits forever.
func runHelper(name, dir string) int {
	addr, err := startNamed(context.Background(), name, dir)
	if err != nil {
		fmt.Println("error:", strings.ReplaceAll(err.Error(), "\n", " "))
		return 1
	}
	fmt.Println(addr)
	select {}
}

// startNamed starts a server by name and returns its address.
func startNamed(ctx context.Context, name, dir string) (string, error) {
	o := process.Options{Dir: dir}
	switch name {
	case servers.NameWeaviate:
		s, err := servers.StartWeaviate(ctx, o)
		if err != nil {
			return "", err
		}
		return s.HTTP(), nil
	case servers.NameTemporal:
		s, err := servers.StartTemporal(ctx, o)
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	}
	return startEmbedded(ctx, name, o)
}

func startEmbedded(ctx context.Context, name string, o process.Options) (string, error) {
	switch name {
	case "broker":
		s, err := servers.StartBroker(ctx, servers.BrokerOptions{Options: o})
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	case "redis":
		s, err := servers.StartEmbeddedRedis(ctx, o)
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	case "rewriting redis":
		s, err := startRewriting(ctx, o)
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	case "redis-server":
		s, err := servers.StartRedisServer(ctx, o)
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	}
	return "", fmt.Errorf("unknown server %q", name)
}

// parent is a separate process that runs a server.
type parent struct {
	cmd  *exec.Cmd
	addr string
}

// startParent starts a server under a process that the test may kill.
func startParent(t *testing.T, name, dir string) *parent {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+name, helperDirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &parent{cmd: cmd}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the helper died: %v", err)
	}
	p.addr = strings.TrimSpace(line)
	if strings.HasPrefix(p.addr, "error:") {
		t.Fatal(p.addr)
	}
	return p
}

// kill ends the parent as kill -9 does and collects it.
func (p *parent) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

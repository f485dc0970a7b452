package servers_test

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/servers"
)

func TestServersListenOnLoopbackAlone(t *testing.T) {
	ctx, dir := testContext(t), t.TempDir()
	o := servers.Options{Dir: dir, Log: t.Output()}
	w, err := servers.StartWeaviate(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, w)
	temporal, err := servers.StartTemporal(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, temporal)
	broker, err := servers.StartBroker(ctx, servers.BrokerOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, broker)
	r, err := servers.StartRedis(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, r)

	pids := []int{os.Getpid()} // where the broker is
	files, err := filepath.Glob(filepath.Join(dir, "*.pid"))
	if err != nil || len(files) < 2 {
		t.Fatalf("processes %v, %v; want two or more", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.Fields(string(content))[0])
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	found := 0
	for _, pid := range pids {
		for _, ip := range listening(t, pid) {
			if found++; !ip.IsLoopback() {
				t.Errorf("process %d listens on %s", pid, ip)
			}
		}
	}
	if found < 6 {
		t.Errorf("%d sockets were found, want those of four servers", found)
	}
}

// listening are the addresses that a process listens on by TCP.
func listening(t *testing.T, pid int) (out []net.IP) {
	t.Helper()
	sockets := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		to, _ := os.Readlink(link) // one that was closed meanwhile is none
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	const stateListen, columns = "0A", 10
	for _, file := range []string{"tcp", "tcp6"} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			f := strings.Fields(line)
			if len(f) < columns || f[3] != stateListen || !sockets[f[9]] {
				continue
			}
			address, _, _ := strings.Cut(f[1], ":")
			raw, err := hex.DecodeString(address)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(raw); i += 4 { // words of the machine's order
				raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
			}
			out = append(out, net.IP(raw))
		}
	}
	return out
}

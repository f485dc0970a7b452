package servers_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	testservers "github.com/mneme-memory/mneme/test/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

func TestServersListenOnLoopbackAlone(t *testing.T) {
	ctx, dir := servertest.Context(t), t.TempDir()
	o := process.Options{Dir: dir, Log: t.Output()}
	nodes, err := testservers.StartWeaviateCluster(ctx, o, 2) // they gossip over UDP, too
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range nodes {
		servertest.StopAtEnd(t, w)
	}
	temporal, err := servers.StartTemporal(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, temporal)
	broker, err := servers.StartBroker(ctx, servers.BrokerOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, broker)
	r, err := servers.StartRedis(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, r)
	least := 3 // two of Weaviate, and Temporal
	sentinels, err := testservers.StartRedisSentinels(ctx, o)
	if err == nil {
		servertest.StopAtEnd(t, sentinels)
		least += len(sentinels.Servers) + len(sentinels.Sentinels)
	} else if !errors.Is(err, process.ErrMissingTool) {
		t.Fatal(err)
	}

	pids := []int{os.Getpid()} // the broker runs in this process
	var files []string
	for _, pattern := range []string{"*.pid", "*/*.pid"} {
		some, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	if len(files) < least {
		t.Fatalf("processes %v; want %d", files, least)
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
	kinds := map[string]int{}
	for _, pid := range pids {
		found := listening(t, pid)
		if len(found) == 0 {
			t.Errorf("process %d listens nowhere that was found", pid)
		}
		for _, s := range found {
			if kinds[s.kind]++; !s.IP.IsLoopback() {
				t.Errorf("process %d listens on %s by %s", pid, s.IP, s.kind)
			}
		}
	}
	if kinds["udp"]+kinds["udp6"] < len(nodes) {
		t.Errorf("sockets found: %v; want Weaviate's for gossip by UDP", kinds)
	}
}

// socket is a listening address of a process.
type socket struct {
	kind string
	net.IP
}

// listening returns the addresses on which a process listens by TCP, or receives UDP datagrams from any sender.
func listening(t *testing.T, pid int) (out []socket) {
	t.Helper()
	sockets := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		to, _ := os.Readlink(link) // a socket closed meanwhile does not count
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	const columns = 10
	for file, state := range map[string]string{"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			f := strings.Fields(line)
			if len(f) < columns || f[3] != state || !sockets[f[9]] {
				continue
			}
			address, _, _ := strings.Cut(f[1], ":")
			raw, err := hex.DecodeString(address)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(raw); i += 4 { // words in the machine's byte order
				raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
			}
			out = append(out, socket{file, raw})
		}
	}
	return out
}

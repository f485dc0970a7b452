//go:build images

// Package images_test runs what the images hold as the images do: static binaries alone in a root folder, as a user without rights.
package images_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// user is who the images run as.
const user = 65532

// mains are the commands of the images by name, as the Dockerfile builds them.
var mains = map[string]string{
	"gateway": "./services/gateway/cmd/gateway", "utilizer": "./services/utilizer/cmd/utilizer",
	"reranker": "./services/reranker/cmd/reranker", "saliency-filter": "./services/saliencyfilter/cmd/saliency-filter",
	"booster": "./services/booster/cmd/booster", "mneme": "./cmd/mneme",
}

// build builds a command as the Dockerfile does, from the sources in a folder.
func build(t *testing.T, sources, name, to string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", to, mains[name])
	cmd.Dir, cmd.Env = sources, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
}

func TestServicesRunAloneInTheirImages(t *testing.T) {
	for name := range mains {
		if name == "mneme" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			build(t, "../..", name, filepath.Join(root, name))
			for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the user has to reach it, and may not write
					t.Fatal(err)
				}
			}
			port := freePort(t)
			var log bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "/"+name)
			cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &log, &log
			cmd.Env = []string{
				"MNEME_HTTP_ADDR=127.0.0.1:" + port, "MNEME_METRICS_ADDR=127.0.0.1:0", "MNEME_TENANTS_FILE=-", "MNEME_TENANTS_DIRECTORY=true",
				"MNEME_INTERNAL_SECRET=sixteen-bytes-or-more", "MNEME_DRAIN_DELAY=200ms",
				// Nothing is there yet: a service lives, and waits for what it needs.
				"MNEME_KAFKA_BROKERS=127.0.0.1:1", "MNEME_REDIS_ADDRS=127.0.0.1:1", "MNEME_TEMPORAL_ADDR=127.0.0.1:1",
				"MNEME_WEAVIATE_HTTP=127.0.0.1:1", "MNEME_WEAVIATE_GRPC=127.0.0.1:1",
			}
			cmd.SysProcAttr = alone(root)
			if err := cmd.Start(); err != nil {
				t.Fatalf("start in a root of its own: %v", err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			await(t, ended, &log, "http://127.0.0.1:"+port+"/healthz", http.StatusOK)
			await(t, ended, &log, "http://127.0.0.1:"+port+"/readyz", http.StatusServiceUnavailable)
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("after SIGTERM: %v\n%s", err, log.String())
			}
		})
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// alone has a process see nothing but a folder, and run as the images' user: by root's rights, or in a namespace of its own.
func alone(root string) *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	return &syscall.SysProcAttr{
		Chroot: root, Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
	}
}

func await(t *testing.T, ended <-chan error, log *bytes.Buffer, url string, want int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		res, err := http.Get(url) //nolint:gosec,noctx // the test's own
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode == want {
				return
			}
		}
		select {
		case <-tick.C:
		case err := <-ended:
			t.Fatalf("ended (%v) before %s answered %d\n%s", err, url, want, log.String())
		case <-t.Context().Done():
			t.Fatalf("%s did not answer %d", url, want)
		}
	}
}

// The same sources give the same binary, wherever they lie.
func TestBinariesAreReproducible(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Mkdir(copied, 0o750); err != nil {
		t.Fatal(err)
	}
	archive := exec.CommandContext(t.Context(), "bash", "-c", "git ls-files -z | tar --null -T - -cf - | tar -xf - -C \"$0\"", copied)
	archive.Dir = "../.."
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var sums [][32]byte
	for _, sources := range []string{"../..", copied} {
		binary := filepath.Join(t.TempDir(), "gateway")
		build(t, sources, "gateway", binary)
		content, err := os.ReadFile(binary) //nolint:gosec // just built
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sha256.Sum256(content))
	}
	if sums[0] != sums[1] {
		t.Error("two builds differ")
	}
}

// The Dockerfile and ko build the same commands in the same way.
func TestBothBuildsAgree(t *testing.T) {
	docker, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile("../../.ko.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ko struct {
		Builds []struct {
			ID, Main            string
			Env, Flags, Ldflags []string
		}
	}
	if err := yaml.Unmarshal(content, &ko); err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^FROM base AS (\S+)\nCOPY --from=build /out/(\S+) /(\S+)\nENTRYPOINT \["/(\S+)"\]$`).
		FindAllStringSubmatch(string(docker), -1) {
		if targets[m[1]] = true; !slices.Equal(m[1:], []string{m[1], m[1], m[1], m[1]}) {
			t.Errorf("target %s runs another command: %v", m[1], m)
		}
	}
	if len(targets) != len(mains) || len(ko.Builds) != len(mains) {
		t.Errorf("%d targets and %d builds, want %d of each", len(targets), len(ko.Builds), len(mains))
	}
	for _, b := range ko.Builds {
		if mains[b.ID] != b.Main || !targets[b.ID] || !strings.Contains(string(docker), b.Main) {
			t.Errorf("%s is built of %s, want %s, and a target of that name", b.ID, b.Main, mains[b.ID])
		}
		for _, want := range []string{"CGO_ENABLED=0", "-trimpath", "-buildvcs=false", "-buildid="} {
			if !slices.Contains(slices.Concat(b.Env, b.Flags, b.Ldflags), want) || !strings.Contains(string(docker), want) {
				t.Errorf("%s is not built with %s in both", b.ID, want)
			}
		}
	}
	if !strings.Contains(string(docker), "\nCOPY --from=build /out/THIRD_PARTY_LICENSES /THIRD_PARTY_LICENSES\n") {
		t.Error("the images are without the licences of what is in them")
	}
	if !strings.Contains(string(docker), fmt.Sprintf("USER %d:%d", user, user)) {
		t.Error("the images run as another user")
	}
}

//go:build images

// Package images_test runs the contents of the images under the images' conditions. Static binaries run alone in a
// root folder, as a user without privileges.
package images_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// user is the user id of the images.
const user = 65532

// mains are the commands of the images by name, as the Dockerfile builds them.
var mains = map[string]string{
	"gateway": "./services/gateway/cmd/gateway", "utilizer": "./services/utilizer/cmd/utilizer",
	"reranker": "./services/reranker/cmd/reranker", "saliency-filter": "./services/saliencyfilter/cmd/saliency-filter",
	"booster": "./services/booster/cmd/booster", "mneme": "./cmd/mneme",
}

// build builds all commands as the Dockerfile does, from a folder of sources into another folder.
func build(t *testing.T, sources, to string, env ...string) {
	t.Helper()
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", to + "/"}
	cmd := exec.CommandContext(t.Context(), "go", slices.AppendSeq(args, maps.Values(mains))...)
	cmd.Dir, cmd.Env = sources, append(append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}

// built is the folder of binaries that all tests use.
var built = filepath.Join(os.TempDir(), fmt.Sprintf("mneme-images-%d", os.Getpid()))

var buildOnce sync.Once

func binaries(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() { build(t, "../..", built) })
	return built
}

func TestMain(m *testing.M) {
	if root := os.Getenv("MNEME_TEST_ROOT"); root != "" {
		fmt.Fprintln(os.Stderr, enter(root))
		os.Exit(3)
	}
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// enter becomes the program of an image, in a read-only root folder, as the images' user. It returns only on failure.
func enter(root string) error {
	const ambient, clearAll = 47, 4 // constants of prctl
	mount := func(from string, flags uintptr) error { return syscall.Mount(from, root, "", flags, "") }
	if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), mount(root, syscall.MS_BIND),
		mount("", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV),
		syscall.Chroot(root), os.Chdir("/")); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(user), syscall.Setuid(user)); err != nil {
			return err
		}
	} else if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, ambient, clearAll, 0, 0, 0, 0); err != 0 {
		return err
	}
	if err := os.WriteFile("/written", nil, 0o600); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("the root folder is not read-only: %w", err)
	}
	if os.Getuid() != user || os.Getgid() != user {
		return fmt.Errorf("the user is %d:%d", os.Getuid(), os.Getgid())
	}
	return syscall.Exec(os.Args[1], os.Args[1:],
		slices.DeleteFunc(os.Environ(), func(e string) bool { //nolint:gosec // the image's
			return strings.HasPrefix(e, "MNEME_TEST_ROOT=")
		}))
}

// image is the command of an image. Its root folder contains only its binary and certificates.
func image(ctx context.Context, t *testing.T, name string, authority *x509.Certificate, args ...string) *exec.Cmd {
	t.Helper()
	root := t.TempDir()
	certs := filepath.Join(root, "etc/ssl/certs")
	content, err1 := os.ReadFile(filepath.Join(binaries(t), name))
	err2 := os.WriteFile(filepath.Join(root, name), content, 0o755) //nolint:gosec // is run
	err3 := os.MkdirAll(certs, 0o755)                               //nolint:gosec // as in the image
	err4 := os.WriteFile(filepath.Join(certs, "ca-certificates.crt"),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}), 0o644) //nolint:gosec // is read by all
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the user has to reach it
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"/" + name}, args...)...)
	cmd.Env, cmd.SysProcAttr = []string{"MNEME_TEST_ROOT=" + root}, alone()
	return cmd
}

func TestServicesRunAloneInTheirImages(t *testing.T) {
	binaries(t) // takes longer than a service's limit
	for name := range mains {
		if name == "mneme" {
			continue // ends by itself: see TestCommandLineRunsAloneInItsImage
		}
		t.Run(name, func(t *testing.T) {
			// The service's telemetry reaches a collector with a certificate from an authority of the image.
			var told atomic.Int64
			collector := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told.Add(1) }))
			collector.Config.ErrorLog = log.New(io.Discard, "", 0)
			collector.StartTLS()
			defer collector.Close()
			port := freePort(t)
			var log bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := image(ctx, t, name, collector.Certificate())
			cmd.Stdout, cmd.Stderr = &log, &log
			cmd.Env = append(cmd.Env,
				"MNEME_HTTP_ADDR=127.0.0.1:"+port, "MNEME_METRICS_ADDR=127.0.0.1:0", "MNEME_TENANTS_FILE=-",
				"MNEME_TENANTS_DIRECTORY=true",
				"MNEME_INTERNAL_SECRET=sixteen-bytes-or-more", "MNEME_DRAIN_DELAY=1s", "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
				// No other system is up yet. The service keeps running and waits for its dependencies.
				"MNEME_KAFKA_BROKERS=127.0.0.1:1", "MNEME_REDIS_ADDRS=127.0.0.1:1", "MNEME_TEMPORAL_ADDR=127.0.0.1:1",
				"MNEME_WEAVIATE_HTTP=127.0.0.1:1", "MNEME_WEAVIATE_GRPC=127.0.0.1:1",
			)
			if err := cmd.Start(); err != nil {
				t.Fatalf("start in a root of its own: %v", err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			await(t, ended, &log, "http://127.0.0.1:"+port+"/healthz", http.StatusOK, "")
			await(t, ended, &log, "http://127.0.0.1:"+port+"/readyz", http.StatusServiceUnavailable, "")
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			// The service reports its shutdown while it still listens, so that callers stop sending requests.
			await(t, ended, &log, "http://127.0.0.1:"+port+"/readyz", http.StatusServiceUnavailable, "shutdown")
			if err := <-ended; err != nil {
				t.Errorf("after SIGTERM: %v\n%s", err, log.String())
			}
			if told.Load() == 0 {
				t.Errorf("nothing reached the collector over TLS\n%s", log.String())
			}
		})
	}
}

// The command line in the image reaches an address with a certificate from an authority of the image.
func TestCommandLineRunsAloneInItsImage(t *testing.T) {
	binaries(t)
	asked := make(chan string, 1)
	services := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path:
		default:
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer services.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := image(ctx, t, "mneme", services.Certificate(), "recall", "--url", services.URL, "--key", "k", "--user", "u",
		"--query", "tea")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() == 3 {
		t.Errorf("ended with %v\n%s", err, out)
	}
	select {
	case path := <-asked:
		if path != "/mneme.v1.UtilizerService/Recall" {
			t.Errorf("asked %s", path)
		}
	default:
		t.Errorf("nothing was asked over TLS\n%s", out)
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

// alone gives a process a separate mount namespace, either with root privileges or with a user namespace that has the
// images' user.
func alone() *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	const chroot, admin = 18, 21
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, AmbientCaps: []uintptr{chroot, admin},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
	}
}

func await(t *testing.T, ended <-chan error, log *bytes.Buffer, url string, want int, says string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		res, err := http.Get(url) //nolint:gosec,noctx // the test's own
		if err == nil {
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if res.StatusCode == want && strings.Contains(string(body), says) {
				return
			}
		}
		select {
		case <-tick.C:
		case err := <-ended:
			t.Fatalf("ended (%v) before %s answered %d %s\n%s", err, url, want, says, log.String())
		case <-t.Context().Done():
			t.Fatalf("%s did not answer %d", url, want)
		}
	}
}

// The same sources give the same binaries in any folder. With MNEME_TEST_FRESH=1 (make test-reproducible), the second
// build reuses no compiled package of the first. It takes five minutes on two processors.
func TestBinariesAreReproducible(t *testing.T) {
	copied := copySources(t)
	again := t.TempDir()
	var env []string
	if os.Getenv("MNEME_TEST_FRESH") == "1" {
		env = append(env, "GOCACHE="+t.TempDir())
	}
	build(t, copied, again, env...)
	for name := range mains {
		var sums [2][32]byte
		for i, dir := range []string{binaries(t), again} {
			content, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // just built
			if err != nil {
				t.Fatal(err)
			}
			sums[i] = sha256.Sum256(content)
		}
		if sums[0] != sums[1] {
			t.Errorf("two builds of %s differ", name)
		}
	}
}

// copySources returns another folder with the same sources.
func copySources(t *testing.T) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Mkdir(copied, 0o750); err != nil {
		t.Fatal(err)
	}
	archive := exec.CommandContext(t.Context(), "bash", "-c",
		"git ls-files -z | tar --null -T - -cf - | tar -xf - -C \"$0\"", copied)
	archive.Dir = "../.."
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return copied
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

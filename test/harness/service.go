package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// Names of the services.
const (
	Filter   = "saliency-filter"
	Booster  = "booster"
	Reranker = "reranker"
	Utilizer = "utilizer"
	Gateway  = "gateway"
)

var errNotProcess = errors.New("only a service that is a process can be killed: Options.Processes")

// unit is one service over its restarts, always with the same address and log.
type unit struct {
	name string
	// service runs in this process.
	service runner.Service
	// binary is the program; empty if the service runs in this process.
	binary  string
	environ map[string]string
	addr    string
	logPath string

	mu  sync.Mutex
	run *run
}

// run is one execution of a service.
type run struct {
	ask  func() error // requests an orderly end
	kill func() error
	done chan struct{} // closed after err is set
	err  error
}

// running returns the present execution, or nil.
func (u *unit) running() *run {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.run
}

// start begins an execution without waiting for readiness.
func (u *unit) start() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.run != nil {
		return fmt.Errorf("%s runs already", u.name)
	}
	log, err := os.OpenFile(u.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if u.binary == "" {
		u.run = u.inProcess(log)
		return nil
	}
	r, err := u.process(log)
	if err == nil {
		u.run = r
	}
	return errors.Join(err, log.Close()) // the child has its own handle
}

func (u *unit) inProcess(log *os.File) *run {
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{done: make(chan struct{})}
	r.ask = func() error { cancel(); return nil }
	r.kill = func() error { return errNotProcess }
	go func() {
		defer close(r.done)
		err := runner.Run(ctx, u.service, runner.Options{Environ: u.environ, Stderr: log})
		if err == nil && ctx.Err() == nil {
			err = errors.New("exited unexpectedly")
		}
		cancel()
		r.err = errors.Join(err, log.Close())
	}()
	return r
}

func (u *unit) process(log *os.File) (*run, error) {
	cmd := exec.Command(u.binary)
	cmd.Env = []string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH")}
	for k, v := range u.environ {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stdout, cmd.Stderr = log, log
	r := &run{done: make(chan struct{})}
	r.ask = func() error { return ignoreDone(cmd.Process.Signal(syscall.SIGTERM)) }
	r.kill = func() error { return ignoreDone(cmd.Process.Kill()) }
	started := make(chan error, 1)
	go func() {
		defer close(r.done)
		r.err = runChild(cmd, started)
	}()
	return r, <-started
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// end ends the present execution by the given function and waits for it. The exit state of a killed process is no
// error.
func (u *unit) end(ctx context.Context, how func(*run) error) error {
	r := u.running()
	if r == nil {
		return nil
	}
	if err := how(r); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return fmt.Errorf("%s does not end: %w", u.name, ctx.Err())
	}
	u.mu.Lock()
	u.run = nil
	u.mu.Unlock()
	return r.err
}

func (u *unit) stop(ctx context.Context) error {
	if err := u.end(ctx, func(r *run) error { return r.ask() }); err != nil {
		return fmt.Errorf("stop %s: %w", u.name, err)
	}
	return nil
}

func (u *unit) kill(ctx context.Context) error {
	err := u.end(ctx, func(r *run) error { return r.kill() })
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		return nil
	}
	return fmt.Errorf("kill %s: %w", u.name, err)
}

// Process is a service's program in a separate process, which the test starts and ends.
type Process struct{ unit unit }

// NewProcess returns a process that does not run yet. Its environ must contain addr as its listen address.
func NewProcess(name, program, addr, logPath string, environ map[string]string) *Process {
	return &Process{unit{name: name, binary: program, addr: addr, logPath: logPath, environ: environ}}
}

// Start starts the process without waiting for readiness.
func (p *Process) Start() error { return p.unit.start() }

// Ready sends a readiness probe. An error means that the process has ended by itself.
func (p *Process) Ready(ctx context.Context, client *http.Client) (bool, error) {
	return p.unit.ready(ctx, client)
}

// Stop ends the process in order. An end after ctx, or an exit code other than 0, is an error.
func (p *Process) Stop(ctx context.Context) error { return p.unit.stop(ctx) }

// Kill ends the process as kill -9 does.
func (p *Process) Kill(ctx context.Context) error { return p.unit.kill(ctx) }

// ready requests /readyz. The error of a service that has ended by itself is final.
func (u *unit) ready(ctx context.Context, client *http.Client) (bool, error) {
	r := u.running()
	if r == nil {
		return false, fmt.Errorf("%s does not run", u.name)
	}
	select {
	case <-r.done:
		return false, fmt.Errorf("%s ended: %w", u.name, r.err)
	default:
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.addr+"/readyz", nil)
	if err != nil {
		return false, err
	}
	res, err := client.Do(req)
	if err != nil {
		return false, nil //nolint:nilerr // not listening yet is not ready yet
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK, nil
}

// Ports are below the range of outgoing connections' local ports, so that a stopped service's port stays free.
const firstPort, lastPort, portTries = 15000, 32000, 1000

// FreeAddr returns a free address on loopback.
func FreeAddr() (string, error) {
	for range portTries {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(lastPort-firstPort)))
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, l.Close()
		}
	}
	return "", fmt.Errorf("no free port between %d and %d", firstPort, lastPort)
}

// Programs builds outdated programs of the services, and mneme, into the cache and returns their folder. The Makefile
// has the same flags, so that both share one cache. Of several concurrent processes, one builds and the others wait.
func Programs(ctx context.Context) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "services")
	if cache := os.Getenv("MNEME_CACHE_DIR"); cache != "" {
		dir = filepath.Join(cache, "services")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return "", fmt.Errorf("wait for a build in another process: %w", err)
	}
	defer lock.Unlock()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", dir+string(filepath.Separator), "./cmd/mneme",
		"./services/saliencyfilter/cmd/saliency-filter", "./services/booster/cmd/booster",
		"./services/reranker/cmd/reranker", "./services/utilizer/cmd/utilizer", "./services/gateway/cmd/gateway")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build services: %w\n%s", err, out)
	}
	return dir, nil
}

// lockRetry is the pause between two checks for the end of another process's build.
const lockRetry = 200 * time.Millisecond

// repository returns the root of the test's module.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside the repository: no go.work above the working directory")
		}
		dir = parent
	}
}

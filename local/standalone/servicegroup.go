package standalone

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/services/booster"
	"github.com/mneme-memory/mneme/services/gateway"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/services/saliencyfilter"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// Services returns the services behind the gateway, in order of dependency.
func Services() []runner.Service {
	return []runner.Service{reranker.Service, utilizer.Service, booster.Service, saliencyfilter.Service}
}

// AllServices returns Services and the gateway.
func AllServices() []runner.Service { return append(Services(), gateway.Service) }

const readyPoll = 20 * time.Millisecond

// serviceGroup runs services in this process, with the same runner as their binaries.
type serviceGroup struct {
	services []runner.Service
	environ  map[string]string
	// wanted holds fixed addresses of services. Other services get a free port.
	wanted  map[string]string
	logPath string
	log     *os.File
	// run ends when the services must stop. It outlives the starting context.
	run    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// failed is closed when a service has ended by itself.
	failed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	addrs map[string]string
	errs  []error
}

func newServiceGroup(
	ctx context.Context, services []runner.Service, environ map[string]string, logPath string,
) *serviceGroup {
	c := &serviceGroup{services: services, environ: environ, logPath: logPath, addrs: map[string]string{},
		failed: make(chan struct{})}
	c.run, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// start starts the services one after another, because later services need the addresses of earlier ones.
func (c *serviceGroup) start(ctx context.Context) error {
	log, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of the services: %w", err)
	}
	c.log = log
	for _, s := range c.services {
		listening := make(chan struct{})
		c.wg.Go(func() {
			err := runner.Run(c.run, s, runner.Options{Environ: c.settings(s.Name()), Stderr: log, OnListen: func(addr string) {
				c.mu.Lock()
				c.addrs[s.Name()] = addr
				c.mu.Unlock()
				close(listening)
			}})
			c.ended(s.Name(), err)
		})
		select {
		case <-listening:
		case <-c.failed:
			return c.err()
		case <-ctx.Done():
			return fmt.Errorf("%s did not start listening: %w", s.Name(), ctx.Err())
		}
	}
	for _, s := range c.services {
		if err := c.ready(ctx, s.Name()); err != nil {
			return err
		}
	}
	return nil
}

// settings returns the environment of the next service.
func (c *serviceGroup) settings(of string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	env := map[string]string{}
	maps.Copy(env, c.environ)
	if addr := c.wanted[of]; addr != "" {
		env[runner.AddrVariable] = addr
	}
	delete(env, runner.MetricsAddrVariable) // several services cannot share one address
	for name, variable := range map[string]string{
		reranker.Service.Name(): "MNEME_RERANKER_URL", utilizer.Service.Name(): "MNEME_UTILIZER_URL",
	} {
		if addr, ok := c.addrs[name]; ok {
			env[variable] = "http://" + addr
		}
	}
	return env
}

func (c *serviceGroup) ended(name string, err error) {
	if c.run.Err() != nil && err == nil {
		return
	}
	if err == nil {
		err = errors.New("exited unexpectedly")
	}
	c.mu.Lock()
	c.errs = append(c.errs, fmt.Errorf("%s: %w", name, err))
	c.mu.Unlock()
	c.once.Do(func() { close(c.failed) })
}

func (c *serviceGroup) ready(ctx context.Context, name string) error {
	url := "http://" + c.addr(name) + "/readyz"
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if isReady(ctx, url) {
			return nil
		}
		select {
		case <-c.failed:
			return c.err()
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready, see %s: %w", name, c.logPath, ctx.Err())
		case <-tick.C:
		}
	}
}

func isReady(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (c *serviceGroup) addr(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addrs[name]
}

func (c *serviceGroup) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}

// stop asks all services to end and waits for them.
func (c *serviceGroup) stop(ctx context.Context) error {
	c.cancel()
	done := make(chan struct{})
	go func() { c.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("services did not end: %w", ctx.Err())
	}
	http.DefaultClient.CloseIdleConnections()
	if c.log != nil {
		return c.log.Close()
	}
	return nil
}

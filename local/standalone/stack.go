// Package standalone runs all of Mneme in one process tree for a laptop. It runs the same services with the same
// protocols as a cluster, and no short cuts. Weaviate and Temporal are real servers in child processes. Broker, Redis
// and trace viewer are embedded.
package standalone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/local/traceview"
	"github.com/mneme-memory/mneme/services/gateway"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// Options configure the stack.
type Options struct {
	// Dir is the data folder. Start creates it if it is missing, and continues with the data of an existing one.
	Dir string
	// Progress receives lines for people, one at a time; nil discards them.
	Progress io.Writer
	// Environ holds service settings in addition to the stack's own, such as MNEME_LLM_MODEL.
	Environ map[string]string
	// Policy is the policy of the local tenant in a new data folder: embedded or llm. Empty means embedded for a new
	// folder and any policy for an existing one. Otherwise a different policy of the folder's tenant gives
	// ErrOtherTenant.
	Policy string
	// ChangePolicy writes Policy into the tenants file of an existing folder, instead of ErrOtherTenant.
	ChangePolicy bool
	// Strategy is the strategy of that tenant, with the same rules. Empty means the default one.
	Strategy string
	// GatewayPort is the port of the gateway; 0 takes the one that the folder remembers, or any free one.
	GatewayPort int
}

const (
	// startTimeout limits the start once servers are built.
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
	// logFile is the log of the services in the data folder.
	logFile = "services.log"
	// tracesFolder has the saved traces in the data folder.
	tracesFolder = "traces"
	// gatewayPorts is the file with the gateway's port in the data folder.
	gatewayPorts = "gateway.ports.json"
	// partitions is the number of partitions of the local broker's topics.
	partitions = 8
)

// Stack is a running standalone.
type Stack struct {
	// Connection holds the addresses for clients.
	Connection Connection
	// Traces holds the traces of the last day.
	Traces *traceview.Store

	opts         Options
	dependencies dependencies
	services     *serviceGroup
	viewer       *http.Server
	viewing      sync.WaitGroup
	lock         *dirLock
	secret       string // shared by the services
	gateway      string // the gateway's address, host:port
}

type dependencies struct {
	weaviate *servers.Weaviate
	temporal *servers.Temporal
	broker   *servers.Broker
	redis    *servers.Redis
}

// Start builds missing servers, starts everything in order of dependency and waits until it is ready. After an error
// it leaves no process running.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	o.Progress = cmp.Or(o.Progress, io.Discard)
	o.Progress = &lines{to: o.Progress}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Stack{opts: o, lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if s.Traces, err = traceview.Open(filepath.Join(o.Dir, tracesFolder), traceview.DefaultSpans, time.Now()); err != nil {
		return nil, err
	}
	if o.ChangePolicy {
		if err := changePolicy(o.Dir, o.Policy); err != nil {
			return nil, err
		}
	}
	if err := checkTenants(o); err != nil {
		return nil, err
	}
	s.gateway, err = process.ClaimPort(filepath.Join(o.Dir, gatewayPorts), gateway.Service.Name(), o.GatewayPort)
	if err != nil {
		return nil, err
	}
	if err := servers.Build(ctx, o.Progress, servers.NameWeaviate, servers.NameTemporal); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.startServers(ctx); err != nil {
		return nil, err
	}
	if err := s.startViewer(); err != nil {
		return nil, err
	}
	if err := s.startServices(ctx); err != nil {
		return nil, err
	}
	return s, s.Connection.save(o.Dir)
}

// startServers starts the servers behind the services in parallel.
func (s *Stack) startServers(ctx context.Context) error {
	began := time.Now()
	at := func(name string) process.Options {
		return process.Options{Dir: filepath.Join(s.opts.Dir, name), Log: s.opts.Progress}
	}
	var g errgroup.Group
	g.Go(func() (err error) {
		s.dependencies.weaviate, err = servers.StartWeaviate(ctx, at("weaviate"))
		return err
	})
	g.Go(func() (err error) {
		s.dependencies.temporal, err = servers.StartTemporal(ctx, at("temporal"))
		return err
	})
	g.Go(func() (err error) { s.dependencies.redis, err = servers.StartRedis(ctx, at("redis")); return err })
	g.Go(func() (err error) {
		s.dependencies.broker, err = servers.StartBroker(ctx,
			servers.BrokerOptions{Options: at("kafka"), Partitions: partitions})
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	s.say("servers ready after %.1f s (weaviate, temporal, kafka, redis)", time.Since(began).Seconds())
	return nil
}

// startViewer starts the trace viewer, which is also the collector of all services.
func (s *Stack) startViewer() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("trace viewer: %w", err)
	}
	s.viewer = &http.Server{Handler: traceview.NewHandler(s.Traces), ReadHeaderTimeout: 5 * time.Second}
	s.viewing.Go(func() { _ = s.viewer.Serve(l) }) // ends with Shutdown
	s.Connection.Traces = "http://" + l.Addr().String()
	return nil
}

// startServices starts the services in order of dependency and waits for their readiness.
func (s *Stack) startServices(ctx context.Context) error {
	began := time.Now()
	key, err := ensureTenants(s.opts.Dir, s.opts.Strategy, s.opts.Policy)
	if err != nil {
		return err
	}
	s.Connection.APIKey, s.Connection.Tenant = key, LocalTenant
	if s.secret, err = ensureSecret(s.opts.Dir); err != nil {
		return err
	}
	s.Connection.Brokers = []string{s.dependencies.broker.Addr()}
	s.Connection.Redis = []string{s.dependencies.redis.Addr()}
	s.services = newServiceGroup(ctx, AllServices(), s.environ(), filepath.Join(s.opts.Dir, logFile))
	s.services.wanted = map[string]string{gateway.Service.Name(): s.gateway}
	if err := s.services.start(ctx); err != nil {
		return err
	}
	s.Connection.Gateway = "http://" + s.services.addr(gateway.Service.Name())
	s.Connection.Utilizer = "http://" + s.services.addr("utilizer")
	s.Connection.Reranker = "http://" + s.services.addr("reranker")
	s.Connection.Model = modelURL(s.environ())
	s.Connection.Parts = []Part{
		{"weaviate", "http://" + s.dependencies.weaviate.HTTP() + "/v1/.well-known/ready"},
		{"temporal", s.dependencies.temporal.Addr()},
		{"kafka", s.dependencies.broker.Addr()}, {"redis", s.dependencies.redis.Addr()},
	}
	for _, service := range AllServices() {
		name := service.Name()
		s.Connection.Parts = append(s.Connection.Parts, Part{name, "http://" + s.services.addr(name) + "/readyz"})
	}
	s.say("services ready after %.1f s (saliency-filter, booster, reranker, utilizer, gateway)",
		time.Since(began).Seconds())
	return nil
}

// Beside starts a further reranker and utilizer with changed settings on the same servers. Callers use it to compare
// results on the same memories. It returns their connection and a function to stop them. Call this function before
// the stack stops.
func (s *Stack) Beside(
	ctx context.Context, settings map[string]string,
) (_ Connection, stop func(context.Context) error, err error) {
	environ := s.environ()
	maps.Copy(environ, settings)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	g := newServiceGroup(ctx, []runner.Service{reranker.Service, utilizer.Service}, environ,
		filepath.Join(s.opts.Dir, logFile))
	if err := g.start(ctx); err != nil {
		return Connection{}, nil, errors.Join(err, g.stop(context.WithoutCancel(ctx)))
	}
	c := s.Connection
	c.Reranker, c.Utilizer = "http://"+g.addr(reranker.Service.Name()), "http://"+g.addr(utilizer.Service.Name())
	return c, g.stop, nil
}

// modelURL returns the base URL of the services' model, without credentials. It is empty without a model.
func modelURL(environ map[string]string) string {
	at, err := url.Parse(environ["MNEME_LLM_BASE_URL"])
	if err != nil || environ["MNEME_LLM_MODEL"] == "" {
		return ""
	}
	at.User, at.RawQuery = nil, ""
	return at.String()
}

// environ returns the settings of every service.
func (s *Stack) environ() map[string]string {
	env := map[string]string{
		"MNEME_HTTP_ADDR":             "127.0.0.1:0",
		"MNEME_KAFKA_BROKERS":         s.dependencies.broker.Addr(),
		"MNEME_KAFKA_PARTITIONS":      fmt.Sprint(partitions),
		"MNEME_KAFKA_REPLICAS":        "1",
		"MNEME_REDIS_ADDRS":           s.dependencies.redis.Addr(),
		"MNEME_TEMPORAL_ADDR":         s.dependencies.temporal.Addr(),
		"MNEME_TEMPORAL_DELETE_AFTER": servers.TemporalDeleteAfter,
		"MNEME_WEAVIATE_HTTP":         s.dependencies.weaviate.HTTP(),
		"MNEME_WEAVIATE_GRPC":         s.dependencies.weaviate.GRPC(),
		"MNEME_TENANTS_FILE":          filepath.Join(s.opts.Dir, tenantsFile),
		"MNEME_TENANTS_DIRECTORY":     "true",
		"MNEME_INTERNAL_SECRET":       s.secret,
		"MNEME_INTERNAL_KEYS":         "true", // everything listens on loopback, and the command line calls services directly
		"OTEL_EXPORTER_OTLP_ENDPOINT": s.Connection.Traces,
		"MNEME_LOG_LEVEL":             "info",
	}
	maps.Copy(env, s.opts.Environ)
	return env
}

// Settings returns the services' settings without secrets, for another client of the same servers, such as a
// benchmark.
func (s *Stack) Settings() map[string]string {
	env := s.environ()
	delete(env, "MNEME_INTERNAL_SECRET")
	return env
}

// Addresses lists all addresses by name, for people.
func (s *Stack) Addresses() [][2]string {
	return [][2]string{
		{"gateway (/docs describes it)", s.Connection.Gateway},
		{"utilizer (gRPC and HTTP/JSON)", s.Connection.Utilizer},
		{"kafka", s.dependencies.broker.Addr()},
		{"temporal", s.dependencies.temporal.Addr()},
		{"weaviate", "http://" + s.dependencies.weaviate.HTTP()},
		{"redis", s.dependencies.redis.Addr()},
		{"saliency-filter health", "http://" + s.services.addr("saliency-filter") + "/readyz"},
		{"booster health", "http://" + s.services.addr("booster") + "/readyz"},
		{"reranker health", "http://" + s.services.addr("reranker") + "/readyz"},
		{"traces", s.Connection.Traces},
		{"data folder", s.opts.Dir},
	}
}

// Wait keeps the servers running and restarts those that end by themselves. It returns nil when ctx ends. It returns
// an error when restarts of a server fail or a service has ended by itself.
func (s *Stack) Wait(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-s.services.failed:
			return s.services.err()
		}
	})
	d := s.dependencies
	for _, keep := range []func(context.Context) error{d.weaviate.Keep, d.temporal.Keep, d.broker.Keep, d.redis.Keep} {
		g.Go(func() error { return keep(ctx) })
	}
	return howToGoOn(g.Wait())
}

// howToGoOn adds advice for the user to the error of a server that does not stay up.
func howToGoOn(err error) error {
	if down := new(process.GaveUpError); errors.As(err, &down) {
		return fmt.Errorf("%w. No acknowledged data is lost: fix the cause, then run `mneme up` again", err)
	}
	return err
}

// Stop stops everything in reverse order. The time for each part is limited, and Stop then continues without it.
func (s *Stack) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	var errs []error
	if s.services != nil {
		errs = append(errs, s.services.stop(ctx))
	}
	if s.viewer != nil {
		errs = append(errs, s.viewer.Shutdown(ctx))
		s.viewing.Wait()
	}
	if s.Traces != nil {
		errs = append(errs, s.Traces.Close())
	}
	// Before the release of the lock, because the next standalone may have saved its connection by then.
	errs = append(errs, s.dependencies.stop(ctx), forget(s.opts.Dir), s.lock.release())
	return errors.Join(errs...)
}

func (s *dependencies) stop(ctx context.Context) error {
	var g errgroup.Group
	if s.broker != nil {
		g.Go(func() error { return s.broker.Stop(ctx) })
	}
	if s.redis != nil {
		g.Go(func() error { return s.redis.Stop(ctx) })
	}
	if s.temporal != nil {
		g.Go(func() error { return s.temporal.Stop(ctx) })
	}
	if s.weaviate != nil {
		g.Go(func() error { return s.weaviate.Stop(ctx) })
	}
	return g.Wait()
}

func (s *Stack) say(format string, args ...any) { fmt.Fprintf(s.opts.Progress, format+"\n", args...) }

// lines is a writer of lines for several goroutines, one line at a time.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/local/traceview"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Options configure a system.
type Options struct {
	// Processes runs the services' programs as child processes, which can be killed. Otherwise they run in this
	// process.
	Processes bool
	// Tenants exist from the start.
	Tenants []Tenant
	// Environ holds service settings in addition to Servers.Environ.
	Environ map[string]string
	// Utilizer is the address of the caller's own utilizers. The system then starts no utilizer.
	Utilizer string
	// Servers are used and left running at the end; nil starts new ones.
	Servers *Servers
}

// System is the back-ends with the four services in front of them.
type System struct {
	Servers *Servers
	// Traces collects the traces of the services and the harness.
	Traces *traceview.Store

	units     map[string]*unit
	utilizer  string // its address
	client    *http.Client
	tel       *telemetry.Telemetry
	busClient *wiring.BusClient
	viewer    *http.Server
	viewing   sync.WaitGroup
	traces    string
	owns      bool // whether the system started the servers

	mu                 sync.Mutex // guards tenants and their file
	tenants            []Tenant
	readingDeadLetters sync.Mutex // one reader of the dead letters at a time, because two would share the partitions
}

// Start starts a system for one test and waits until it is ready. If the test has failed, it logs the services'
// complaints.
func Start(tb testing.TB, o Options) *System {
	tb.Helper()
	s, err := Open(context.Background(), tb.TempDir(), o)
	if err != nil {
		tb.Fatalf("start system: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Log(s.Complaints())
		}
		if err := s.Close(); err != nil {
			tb.Errorf("stop system: %v", err)
		}
	})
	return s
}

// Open starts a system in dir, for TestMain. The caller closes it. After an error no process runs.
func Open(ctx context.Context, dir string, o Options) (_ *System, err error) {
	s := &System{
		Servers: o.Servers, Traces: traceview.NewStore(traceview.DefaultSpans), units: map[string]*unit{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, owns: o.Servers == nil,
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.owns {
		if s.Servers, err = OpenServers(ctx, dir); err != nil {
			return nil, err
		}
	}
	if err := s.AddTenants(o.Tenants...); err != nil {
		return nil, err
	}
	if err := s.observe(ctx); err != nil {
		return nil, err
	}
	if err := s.define(ctx, dir, o); err != nil {
		return nil, err
	}
	return s, s.startAll(ctx)
}

// observe starts the collector and the harness's own end of the bus.
func (s *System) observe(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.viewer = &http.Server{Handler: traceview.NewHandler(s.Traces), ReadHeaderTimeout: 5 * time.Second}
	s.viewing.Go(func() { _ = s.viewer.Serve(l) }) // ends with Close
	s.traces = "http://" + l.Addr().String()
	s.tel, err = telemetry.New(ctx, "harness", "", telemetry.Config{
		Endpoint: s.traces, SampleRatio: 1, LogLevel: "error", LogFormat: "text",
	}, discard{})
	if err != nil {
		return err
	}
	s.busClient, err = s.bus().Open(ctx, "harness", s.tel)
	return err
}

func (s *System) bus() wiring.Bus {
	return wiring.Bus{Brokers: []string{s.Servers.Broker.Addr()}, Partitions: partitions, Replicas: 1}
}

// define gives every service an address and settings.
func (s *System) define(ctx context.Context, dir string, o Options) error {
	if s.utilizer = o.Utilizer; s.utilizer != "" {
		return nil
	}
	programs := ""
	if o.Processes {
		var err error
		if programs, err = Programs(ctx); err != nil {
			return err
		}
	}
	for _, service := range standalone.Services() {
		addr, err := FreeAddr()
		if err != nil {
			return err
		}
		u := &unit{name: service.Name(), service: service, addr: addr, logPath: filepath.Join(dir, service.Name()+".log")}
		if o.Processes {
			u.binary = filepath.Join(programs, service.Name())
		}
		s.units[service.Name()] = u
	}
	s.utilizer = s.units[Utilizer].addr
	for _, u := range s.units {
		u.environ = s.Servers.Environ(map[string]string{
			"MNEME_HTTP_ADDR":             u.addr,
			"MNEME_RERANKER_URL":          "http://" + s.units[Reranker].addr,
			"OTEL_EXPORTER_OTLP_ENDPOINT": s.traces,
		})
		maps.Copy(u.environ, o.Environ)
	}
	return nil
}

func (s *System) startAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for _, u := range s.units {
		if err := u.start(); err != nil {
			return err
		}
	}
	for _, u := range s.units {
		if err := s.awaitReady(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (s *System) awaitReady(ctx context.Context, u *unit) error {
	err := poll(ctx, func(ctx context.Context) (bool, error) { return u.ready(ctx, s.client) })
	if err != nil {
		return fmt.Errorf("%s is not ready: %w\n%s", u.name, err, tail(u.logPath, logTail))
	}
	return nil
}

// UtilizerAddr is the address of the utilizer.
func (s *System) UtilizerAddr() string { return s.utilizer }

// AddTenants adds tenants to the file. The services read it within MNEME_TENANTS_POLL of Servers.Environ.
func (s *System) AddTenants(tenants ...Tenant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenants = append(s.tenants, tenants...)
	return writeTenants(s.Servers.TenantsFile(), s.tenants)
}

// Close stops the services, and the servers if the system started them.
func (s *System) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var errs []error
	for _, u := range s.units {
		errs = append(errs, u.stop(ctx))
	}
	if s.busClient != nil {
		errs = append(errs, s.busClient.Close())
	}
	if s.tel != nil {
		errs = append(errs, s.tel.Shutdown(ctx))
	}
	if s.viewer != nil {
		errs = append(errs, s.viewer.Shutdown(ctx))
		s.viewing.Wait()
	}
	s.client.CloseIdleConnections()
	if s.owns && s.Servers != nil {
		errs = append(errs, s.Servers.Close())
	}
	return errors.Join(errs...)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

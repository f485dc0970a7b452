//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/test/harness"
)

// chart holds the chart's values for the start and the end of pods.
type chart struct {
	Drain struct {
		PreStop int `yaml:"preStopSeconds"`
		Delay   int `yaml:"delaySeconds"`
		Stage   int `yaml:"stageSeconds"`
	} `yaml:"drain"`
	Defaults struct {
		Readiness struct {
			Period   int `yaml:"periodSeconds"`
			Timeout  int `yaml:"timeoutSeconds"`
			Failures int `yaml:"failureThreshold"`
		} `yaml:"readinessProbe"`
	} `yaml:"defaults"`
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// grace is the chart's terminationGracePeriodSeconds (mneme.grace).
func (c chart) grace() time.Duration {
	return seconds(c.Drain.PreStop + c.Drain.Delay + 4*c.Drain.Stage + 15)
}

func readChart(t *testing.T) (c chart) {
	t.Helper()
	content, err := os.ReadFile("../../charts/mneme/values.yaml")
	if err == nil {
		err = yaml.Unmarshal(content, &c)
	}
	if err != nil || c.Drain.Stage == 0 || c.Defaults.Readiness.Period == 0 {
		t.Fatalf("read the chart's values: %v, %+v", err, c)
	}
	return c
}

// components are the chart's components with their program and, for a booster, its role.
var components = map[string]struct{ program, role string }{
	harness.Gateway: {harness.Gateway, ""}, harness.Utilizer: {harness.Utilizer, ""},
	harness.Reranker: {harness.Reranker, ""},
	harness.Filter:   {harness.Filter, ""}, harness.Booster: {harness.Booster, "intake,attribution,workflow,model,store"},
	"booster-intake": {harness.Booster, "intake"}, "booster-attribution": {harness.Booster, "attribution"},
	"booster-workflow": {harness.Booster, "workflow"}, "booster-model": {harness.Booster, "model"},
	"booster-store": {harness.Booster, "store"},
}

// cluster runs deployments on one machine.
type cluster struct {
	*harness.System
	chart       chart
	programs    string
	dir         string
	services    map[string]*balancer
	deployments []*deployment
	client      *http.Client // sends probes

	mu      sync.Mutex
	slowest time.Duration // the slowest orderly end, from SIGTERM
	slow    string        // the replica of slowest
}

// newCluster starts servers, and the given replicas of each component.
func newCluster(t *testing.T, tenants []harness.Tenant, replicas map[string]int) *cluster {
	t.Helper()
	programs, err := harness.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		chart: readChart(t), programs: programs, dir: t.TempDir(), services: map[string]*balancer{},
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	for _, name := range []string{harness.Gateway, harness.Utilizer, harness.Reranker} {
		c.services[name] = newBalancer(t)
	}
	c.System = harness.Start(t, harness.Options{Tenants: tenants, Utilizer: c.services[harness.Utilizer].addr()})
	t.Cleanup(func() { c.end(t) })
	var g errgroup.Group
	for name, n := range replicas {
		d := &deployment{cluster: c, name: name, service: c.services[name]}
		c.deployments = append(c.deployments, d)
		g.Go(func() error { return d.scale(n) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return c
}

// end stops all remaining processes at once and in order. If the test has failed, it logs the services' complaints.
func (c *cluster) end(t *testing.T) {
	var g errgroup.Group
	for _, d := range c.deployments {
		for _, p := range d.pods {
			g.Go(func() error { return p.end() })
		}
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if !t.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))
	for _, name := range logs {
		content, _ := os.ReadFile(name)
		var lines []string
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, `"WARN"`) || strings.Contains(line, `"ERROR"`) {
				lines = append(lines, line)
			}
		}
		t.Logf("complaints of %s:\n%s", filepath.Base(name), strings.Join(lines[max(0, len(lines)-5):], ""))
	}
}

// all runs a function for every deployment at the same time.
func (c *cluster) all(do func(*deployment) error) error {
	var g errgroup.Group
	for _, d := range c.deployments {
		g.Go(func() error { return do(d) })
	}
	return g.Wait()
}

// deployment runs replicas of a component.
type deployment struct {
	*cluster
	name    string
	service *balancer // nil for a component without callers
	pods    []*pod
	made    int
}

// pod is a replica with the actions of a kubelet.
type pod struct {
	*deployment
	*harness.Process
	addr    string
	probing sync.WaitGroup
	stop    context.CancelFunc
}

// scale starts replicas or stops the newest ones, all at once, as a Deployment with a new number of replicas does.
func (d *deployment) scale(n int) error {
	var g errgroup.Group
	for len(d.pods) < n {
		p, err := d.newPod()
		if err != nil {
			return err
		}
		d.pods = append(d.pods, p)
		g.Go(p.begin)
	}
	for _, p := range d.pods[n:] {
		g.Go(p.terminate)
	}
	if err := g.Wait(); err != nil {
		return err
	}
	d.pods = d.pods[:n]
	return nil
}

// replace replaces one replica after the other, as maxSurge 1 and maxUnavailable 0 do. A new replica is ready before
// an old one ends.
func (d *deployment) replace(end func(*pod) error) error {
	for range len(d.pods) {
		p, err := d.newPod()
		if err != nil {
			return err
		}
		d.pods = append(d.pods, p)
		if err := p.begin(); err != nil {
			return err
		}
		if err := end(d.pods[0]); err != nil {
			return err
		}
		d.pods = d.pods[1:]
	}
	return nil
}

func (d *deployment) newPod() (*pod, error) {
	addr, err := harness.FreeAddr()
	if err != nil {
		return nil, err
	}
	d.made++
	name := fmt.Sprintf("%s-%d", d.name, d.made)
	is := components[d.name]
	environ := d.Servers.Environ(map[string]string{
		"MNEME_HTTP_ADDR":        addr,
		"MNEME_INTERNAL_SECRET":  "sixteen bytes it is",
		"MNEME_INTERNAL_KEYS":    "true", // so that clients may also call utilizers directly
		"MNEME_DRAIN_DELAY":      seconds(d.chart.Drain.Delay).String(),
		"MNEME_SHUTDOWN_TIMEOUT": seconds(d.chart.Drain.Stage).String(),
		"MNEME_UTILIZER_URL":     d.services[harness.Utilizer].url(),
		"MNEME_RERANKER_URL":     d.services[harness.Reranker].url(),
	})
	if is.role != "" {
		maps.Copy(environ, map[string]string{"MNEME_BOOSTER_ROLES": is.role})
	}
	return &pod{deployment: d, addr: addr, Process: harness.NewProcess(
		name, filepath.Join(d.programs, is.program), addr, filepath.Join(d.dir, name+".log"), environ,
	)}, nil
}

// begin starts a replica, waits until it is ready, and starts its probe.
func (p *pod) begin() error {
	if err := p.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ready, err := p.Ready(ctx, p.client)
		if err != nil {
			return err
		}
		if ready {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", p.name, ctx.Err())
		case <-tick.C:
		}
	}
	if p.service != nil {
		p.service.add(p.addr)
	}
	ctx, p.stop = context.WithCancel(context.Background())
	p.probing.Go(func() { p.probe(ctx) })
	return nil
}

// startLimit is far longer than a start takes.
const startLimit = 2 * time.Minute

// probe checks readiness as the chart configures a kubelet. A replica that is not ready is withdrawn from its
// Service.
func (p *pod) probe(ctx context.Context) {
	probe := p.chart.Defaults.Readiness
	tick := time.NewTicker(seconds(probe.Period))
	defer tick.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asking, cancel := context.WithTimeout(ctx, seconds(probe.Timeout))
		ready, _ := p.Ready(asking, p.client)
		cancel()
		if failures++; ready {
			failures = 0
		}
		switch {
		case p.service == nil || ctx.Err() != nil:
		case ready:
			p.service.add(p.addr)
		case failures >= probe.Failures:
			p.service.withdraw(p.addr)
		}
	}
}

// end stops a replica in order, within the rest of the grace period after the preStop hook.
func (p *pod) end() error {
	p.withdraw()
	ctx, cancel := context.WithTimeout(context.Background(), p.chart.grace()-seconds(p.chart.Drain.PreStop))
	defer cancel()
	began := time.Now()
	err := p.Stop(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if took := time.Since(began); took > p.slowest {
		p.slowest, p.slow = took, p.name
	}
	return err
}

// terminate ends a replica as the deletion of its pod does. While the preStop hook waits, the endpoint is withdrawn,
// which takes effect some time later. Then the replica gets SIGTERM and has the rest of the grace period.
func (p *pod) terminate() error {
	preStop := seconds(p.chart.Drain.PreStop)
	<-time.After(preStop / 2)
	p.withdraw()
	<-time.After(preStop - preStop/2)
	return p.end()
}

// crash ends a replica without notice. The replica is withdrawn when a kubelet would notice its end.
func (p *pod) crash() error {
	ctx, cancel := context.WithTimeout(context.Background(), p.chart.grace())
	defer cancel()
	err := p.Kill(ctx)
	<-time.After(time.Second)
	p.withdraw()
	return err
}

// withdraw removes a replica's endpoint for good, whatever its probe returns.
func (p *pod) withdraw() {
	if p.stop != nil {
		p.stop()
		p.probing.Wait()
	}
	if p.service != nil {
		p.service.withdraw(p.addr)
	}
}

package fault_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/test/harness"
)

// outages are two kinds of outage of one part in the middle of a tenant's load.
type outages struct {
	tenant string
	both   [2]outage
	// until is the log line that ends an outage. It is empty if a service itself fails.
	until complaint
}

// complaint is a log line of a service, with its number of occurrences, about a missing dependency.
type complaint struct {
	service, text string
	times         int
}

// outage stops a part and starts it again.
type outage struct{ begin, end func(*testing.T) }

// server has the common methods of the servers package.
type server interface {
	Stop(context.Context) error
	Kill() error
	Restart(context.Context) error
}

func serverOutages(sys *harness.System) []outages {
	var out []outages
	for _, s := range []struct {
		name   string
		server server
		until  complaint
	}{
		{tenantWeaviate, sys.Servers.Weaviate, complaint{harness.Booster, "Activity error", 3}},
		{tenantTemporal, sys.Servers.Temporal, complaint{harness.Booster, "attempt failed", 1}},
		{tenantRedis, sys.Servers.Redis, complaint{harness.Booster, "attempt failed", 4}},
		{tenantKafka, sys.Servers.Broker, complaint{harness.Filter, "join the consumer group, retrying", 1}},
	} {
		end := func(t *testing.T) {
			res, err := sys.HTTP().Get(sys.URL(t, harness.Utilizer) + "/readyz")
			must(t, err)
			must(t, res.Body.Close())
			if res.StatusCode != http.StatusOK {
				t.Errorf("without %s the utilizer is not ready (%s), and says no more what is the matter", s.name, res.Status)
			}
			must(t, s.server.Restart(t.Context()))
		}
		// While the dependency is unavailable, its callers must be able to start, and to end in order with exit code
		// 0.
		endLater := func(t *testing.T) {
			func() {
				defer end(t)
				sys.Stop(t, s.until.service)
				sys.Launch(t, s.until.service)
			}()
			sys.AwaitReady(t, s.until.service)
		}
		out = append(out, outages{tenant: s.name, until: s.until, both: [2]outage{
			{begin: func(t *testing.T) { must(t, s.server.Stop(t.Context())) }, end: end},
			{begin: func(t *testing.T) { must(t, s.server.Kill()) }, end: endLater},
		}})
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run publishes sessions all the time. It starts an outage when some of the earlier sessions are formed and others
// are not. Each outage lasts until a service notices it. The final state must equal the state without outages.
func (o outages) run(t *testing.T, sys *harness.System, sessions []dataset.Session, want harness.State) {
	client := sys.Client(o.tenant)
	count := harness.Formed(client, sessions)
	goOn, published := newLoad(t, sys, o.tenant, sessions).start(upTo(2), upTo(3), upTo(4), upTo(5), len(sessions))
	goOn()
	for i, b := range o.both {
		enough := upTo(2*i+1) + 1
		await(t, "some sessions are formed", func(ctx context.Context) bool { return count(ctx) >= enough })
		before := o.until.count(t, sys)
		b.begin(t)
		began := time.Now()
		goOn()
		felt := until(t.Context(), func(context.Context) bool { return o.until.count(t, sys) >= before+o.until.times })
		b.end(t)
		if felt != nil {
			t.Fatalf("waiting until %s complains: %v", o.until.service, felt)
		}
		restored := time.Now()
		goOn()
		soon := upTo(2*i + 3)
		await(t, "what was published meanwhile is formed", func(ctx context.Context) bool { return count(ctx) >= soon })
		t.Logf("unavailable for %v; what was published meanwhile was formed %v after the return",
			restored.Sub(began).Round(time.Millisecond), time.Since(restored).Round(time.Millisecond))
	}
	published(t)
	harness.AwaitState(t, o.tenant, client, sessions, want)
	if letters := sys.DeadLetters(t, o.tenant+"/"); len(letters) != 0 {
		t.Errorf("%d dead letters, the first because of %q", len(letters), letters[0].GetReason())
	}
}

func (c complaint) count(t *testing.T, sys *harness.System) int {
	t.Helper()
	if c.service == "" {
		return 0
	}
	return strings.Count(sys.Log(t, c.service), c.text)
}

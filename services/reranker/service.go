// Package reranker ranks candidate memories for a query, and learns online from their citations: retrospective
// reflection (RMM, section 6) with separate weights per tenant.
package reranker

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// maxMessage is the maximum size of a decompressed request in bytes.
const maxMessage = 4 << 20

const name = "reranker"

// compressFrom is the size in bytes from which answers are compressed. Compression of a usual answer takes longer
// than sending it.
const compressFrom = 32 << 10

// Service is the reranker.
var Service = runner.Define(name, "orders memories for a query", build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8404"))

func build(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	prior, err := cfg.Prior.Open()
	if err != nil {
		return nil, err
	}
	b := &wiring.Builder{}
	tenants, client, err := b.Open(ctx, name, cfg.Tenants, cfg.Bus, tel)
	if err != nil {
		return nil, err
	}
	store, free, err := cfg.Weights.Open(tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("weights", free)
	server, learner, err := Assemble(Parts{
		Tenants: tenants, Store: store, Prior: prior, Settings: cfg.Learn, Limits: cfg.Weights.Limits(), Now: time.Now,
	}, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.App.Close = append(b.App.Close, runner.Step{Name: "traces", Run: server.Recorder.Close})
	consume, err := client.Consume(contract.TopicFeedback, cfg.Group, learner.Handle)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	traces, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(tel.Tracer),
		otelconnect.WithMeterProvider(tel.Meter), otelconnect.WithPropagator(tel.Propagator), otelconnect.WithTrustRemote())
	if err != nil {
		return b.Abandon(ctx, err)
	}
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(server,
		connect.WithInterceptors(traces), connect.WithCompressMinBytes(compressFrom), connect.WithReadMaxBytes(maxMessage)))
	if b.App.Handler, err = cfg.Inside.Require(tenants, tel, mux); err != nil {
		return b.Abandon(ctx, err)
	}
	b.Background(consume)
	return &b.App, nil
}

// Parts are the parts of server and learner.
type Parts struct {
	// Tenants is the registry of tenants with accepted feedback.
	Tenants *tenant.Registry
	// Store keeps weights and traces. The caller closes it.
	Store weights.Store
	// Prior is the initial weights of every tenant.
	Prior ranking.Prior
	// Settings configure ranking and learning.
	Settings Settings
	// Limits has the limits of the store.
	Limits weights.Limits
	// Now is the clock.
	Now func() time.Time
}

// Assemble creates the server and the learner over one store. The caller closes the server's recorder.
func Assemble(p Parts, tel *telemetry.Telemetry) (*Server, *Learner, error) {
	metrics, err1 := NewMetrics(tel.Meter.Meter(wiring.Scope))
	cache, err2 := NewCache(p.Store, p.Prior, p.Settings, p.Now, tel.Log)
	if err := errors.Join(err1, err2, p.Settings.ranking().Validate()); err != nil {
		return nil, nil, err
	}
	updater := NewUpdater(p.Store, cache, p.Limits.Versions)
	learner := &Learner{Tenants: p.Tenants, Updater: updater, Traces: p.Store, Settings: p.Settings, Limits: p.Limits,
		Metrics: metrics}
	server := &Server{
		Cache: cache, Recorder: NewRecorder(p.Store, p.Settings.TraceQueue, metrics, tel.Log), Updater: updater,
		Explore: p.Settings.Explore, ExploreLast: p.Settings.ExploreLast, Settings: p.Settings.ranking(), Metrics: metrics,
		Log: tel.Log,
	}
	return server, learner, nil
}

// Config is the settings of the service.
type Config struct {
	Bus     wiring.Bus
	Tenants wiring.Tenants
	Inside  wiring.Inside
	Weights wiring.Weights
	Prior   wiring.Prior
	Learn   Settings
	// Group is the consumer group of the reranker.
	Group string `envDefault:"mneme-reranker"`
}

// Settings configure ranking and learning.
type Settings struct {
	Explore     float64 `env:"MNEME_RERANKER_EXPLORE" envDefault:"0" desc:"share of recalls with a randomly drawn order"`
	ExploreLast float64 `env:"MNEME_RERANKER_EXPLORE_LAST" envDefault:"0.2" desc:"share of recalls with an exploring candidate in the last place"`
	// Temperature is how far drawn orders deviate from the scores.
	Temperature float64 `envDefault:"0.5"`
	Spread      float64 `env:"MNEME_RERANKER_SPREAD" envDefault:"0.2" desc:"deduction from a score for each better memory of its session, if a query needs several things; 0 spreads nothing"`
	// LearningRate is the step size of the embedding maps; 0 turns their learning off.
	LearningRate float64 `envDefault:"0.001"`
	FeatureRate  float64 `env:"MNEME_RERANKER_FEATURE_RATE" envDefault:"0.15" desc:"length of the first steps of the features' weights per unit of gradient"`
	// Baseline is subtracted from the rewards, 1 or -1, of drawn orders.
	Baseline float64 `envDefault:"0.5"`
	Batch    int     `env:"MNEME_RERANKER_BATCH" envDefault:"4" desc:"citation reports in one step of the weights"`
	// Radius limits the distance of feature weights, and of maps, from the prior.
	Radius     float64 `envDefault:"1"`
	UserRate   int     `env:"MNEME_RERANKER_USER_RATE" envDefault:"600" desc:"most reports of one user an hour that change the weights"`
	TenantRate int     `env:"MNEME_RERANKER_TENANT_RATE" envDefault:"36000" desc:"most reports of one tenant an hour that change the weights"`
	// Tenants is the number of tenants with cached weights; 16 tenants without weights count as 1.
	Tenants int `envDefault:"1000"`
	// Refresh is the maximum age of cached weights before the next read.
	Refresh     time.Duration `envDefault:"1s"`
	LoadTimeout time.Duration `env:"MNEME_RERANKER_LOAD_TIMEOUT" envDefault:"100ms" desc:"how long a ranking waits for fresh weights"`
	TraceQueue  int           `envDefault:"1024"`
}

// Validate checks the limits that the types do not express.
func (s Settings) Validate() error {
	return errors.Join(
		config.Require(s.Explore >= 0 && s.Explore <= 1, "MNEME_RERANKER_EXPLORE", s.Explore, "0 to 1"),
		config.Require(s.ExploreLast >= 0 && s.ExploreLast <= 1, "MNEME_RERANKER_EXPLORE_LAST", s.ExploreLast, "0 to 1"),
		config.Require(s.Spread >= 0 && s.Spread <= 1e3, "MNEME_RERANKER_SPREAD", s.Spread, "0 to 1000"),
		config.Require(s.FeatureRate >= 0 && s.FeatureRate <= 1, "MNEME_RERANKER_FEATURE_RATE", s.FeatureRate, "0 to 1"),
		config.Require(s.Batch >= 1 && s.Batch <= 1024, "MNEME_RERANKER_BATCH", s.Batch, "1 to 1024"),
		config.Require(s.UserRate > 0, "MNEME_RERANKER_USER_RATE", s.UserRate, "more than zero"),
		config.Require(s.TenantRate > 0, "MNEME_RERANKER_TENANT_RATE", s.TenantRate, "more than zero"),
		config.Require(s.LoadTimeout > 0, "MNEME_RERANKER_LOAD_TIMEOUT", s.LoadTimeout, "more than zero"),
	)
}

// ranking returns the settings of package ranking.
func (s Settings) ranking() ranking.Settings {
	r := ranking.DefaultSettings()
	r.LearningRate, r.FeatureRate, r.Baseline = s.LearningRate, s.FeatureRate, s.Baseline
	r.Temperature, r.Spread, r.Batch = s.Temperature, s.Spread, s.Batch
	r.FeatureRadius, r.MapRadius = s.Radius, s.Radius
	return r
}

// Metrics are the counters of the service.
type Metrics struct {
	Memories, Reports, Steps, Traces, Explored, Degraded metric.Int64Counter
	Update                                               metric.Float64Histogram
}

// NewMetrics creates the counters.
func NewMetrics(m metric.Meter) (Metrics, error) {
	memories, err1 := telemetry.MetricFeedback.Counter(m)
	reports, err2 := telemetry.MetricReports.Counter(m)
	steps, err3 := telemetry.MetricWeightSteps.Counter(m)
	traces, err4 := telemetry.MetricRecallTraces.Counter(m)
	degraded, err5 := telemetry.MetricRerankDegraded.Counter(m)
	update, err6 := telemetry.MetricWeightUpdate.Histogram(m)
	explored, err7 := telemetry.MetricExplored.Counter(m)
	return Metrics{
		Memories: memories, Reports: reports, Steps: steps, Traces: traces, Explored: explored, Degraded: degraded,
		Update: update,
	}, errors.Join(err1, err2, err3, err4, err5, err6, err7)
}

// Outcomes of a report of citations.
const (
	outcomeLearned       = "learned"
	outcomeEmbedded      = "embedded"       // the citation of the generator without a model
	outcomeUnknownSource = "unknown_source" // a utilizer of an earlier version sent no source
	outcomeDuplicate     = "duplicate"
	outcomeExpired       = "expired"
	outcomeUnknownRecall = "unknown_recall" // its trace is not kept, or never was
	outcomeNothingShown  = "nothing_shown"  // it refers to no memory that the recall chose
	outcomeUserRate      = "user_rate"      // over MNEME_RERANKER_USER_RATE
	outcomeTenantRate    = "tenant_rate"    // over MNEME_RERANKER_TENANT_RATE
	outcomeOtherFeatures = "other_features" // its trace is for another feature set
	outcomeUnusable      = "unusable"       // its trace cannot be read or scored
)

// Outcomes of a memory in a report.
const (
	memoryCited       = "cited"
	memoryNotCited    = "not_cited"
	memoryNotInRecall = "not_in_recall"
)

// Outcomes of the trace of a recall.
const (
	traceKept    = "kept"
	traceDropped = "dropped"
	traceFailed  = "failed"
)

// The drawn part of an order.
const (
	exploredOrder = "order"
	exploredLast  = "last" // its last place
)

// The origin of a version.
const (
	stepLearned    = "learned"
	stepRolledBack = "rolled_back"
)

// The missing part of an order.
const (
	weightsUnavailable = "weights_unavailable" // the store failed: the last known weights, or the shared prior
	mapsDoNotFit       = "maps_do_not_fit"     // the query's vector and the maps come from different embedding models
)

// add adds n to the counter of an outcome. Zero creates no series.
func add(ctx context.Context, c metric.Int64Counter, tenant, outcome string, n int) {
	if n > 0 {
		c.Add(ctx, int64(n), metric.WithAttributes(telemetry.AttrTenant.String(tenant),
			telemetry.AttrOutcome.String(outcome)))
	}
}

// Package utilizer creates a profile of the relevant memories for a query, and answers from it. It also lets callers
// read and retract single memories.
package utilizer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	recallembedded "github.com/mneme-memory/mneme/shared/recall/embedded"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	"github.com/mneme-memory/mneme/shared/store/transfer"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// Config is the settings of the service.
type Config struct {
	Bus       wiring.Bus
	Tenants   wiring.Tenants
	Inside    wiring.Inside
	Window    wiring.Window
	Workflows wiring.Workflows
	Bank      weaviate.Config
	Model     wiring.Model
	Recall    wiring.RecallOptions
	Embedding wiring.Embedding
	Prior     wiring.Prior
	// Group is the prefix of the utilizer's consumer groups. Every replica has a separate group, because each drops
	// its cached data of users.
	Group         string        `envDefault:"mneme-utilizer"`
	RerankerURL   string        `env:"MNEME_RERANKER_URL" envDefault:"http://127.0.0.1:8404" desc:"base URL of the reranker"`
	Alpha         float64       `env:"MNEME_RECALL_ALPHA" envDefault:"0.1" desc:"weight of vectors against words in the bank's search, 0 to 1; the search serves users without an index; the default suits the built-in embedder, and a real embedding model may need a higher value"`
	Floor         float64       `env:"MNEME_RECALL_FLOOR" envDefault:"0.2" desc:"relevance floor, 0 to 1, of a user's request to an assistant and of every question that a model answers; a recall leaves out the least likely memories, each less likely than a random one, while the probability that any of them is needed is at most this value; 0 leaves none out"`
	OwnPlaces     int           `env:"MNEME_RECALL_OWN_PLACES" envDefault:"2" desc:"most reserved places for constraints, and as many for preferences, in the memories shown for a request, 0 to 20; 0 makes them compete with all others"`
	RankTimeout   time.Duration `env:"MNEME_RECALL_RERANK_TIMEOUT" envDefault:"250ms" desc:"how long a recall waits for the reranker before it continues without it"`
	WindowTimeout time.Duration `env:"MNEME_RECALL_WINDOW_TIMEOUT" envDefault:"250ms" desc:"how long a recall waits for working memory before it continues without it"`
	IndexSize     config.Size   `env:"MNEME_RECALL_INDEX_SIZE" envDefault:"256MiB" desc:"approximate memory for the indexes of recently active users; 0 keeps none, and every recall searches the bank"`
	// IndexEntries is the maximum number of memories, and of turns, of a user with an index. Above it, every recall
	// searches the bank.
	IndexEntries int           `envDefault:"20000"`
	IndexFresh   time.Duration `env:"MNEME_RECALL_INDEX_FRESH" envDefault:"5m" desc:"longest use of a user's index; a memory change drops it sooner"`
	IndexTimeout time.Duration `env:"MNEME_RECALL_INDEX_TIMEOUT" envDefault:"50ms" desc:"how long the first recall of a user waits for the index after the bank's search, before it uses the results of that search"`
	// WeightsAge is the maximum age of a tenant's learned weights for the selection of candidates. They are read in
	// the background. If all available weights are older, the shared prior selects.
	WeightsAge time.Duration `envDefault:"30s"`
	// Reserve is the rest of a caller's deadline at which a model's profile is given up for a profile without a model.
	Reserve time.Duration `envDefault:"50ms"`
	// AnswerTime is the time that a caller's deadline must leave for a model to write an answer's profile, which is an
	// additional call. The profile may take half of it.
	AnswerTime time.Duration `envDefault:"10s"`
}

// Validate checks the limits that the types do not express.
func (c Config) Validate() error {
	return errors.Join(
		config.Require(c.RerankerURL != "", "MNEME_RERANKER_URL", c.RerankerURL, "a URL such as http://127.0.0.1:8404"),
		config.Require(c.Alpha >= 0 && c.Alpha <= 1, "MNEME_RECALL_ALPHA", c.Alpha, "0 to 1"),
		config.Require(c.Floor >= 0 && c.Floor < 1, "MNEME_RECALL_FLOOR", c.Floor, "0 or more, and less than 1"),
		config.Require(c.OwnPlaces >= 0 && c.OwnPlaces <= 20, "MNEME_RECALL_OWN_PLACES", c.OwnPlaces, "0 to 20"),
		config.Require(c.RankTimeout > 0, "MNEME_RECALL_RERANK_TIMEOUT", c.RankTimeout, "more than zero"),
		config.Require(c.WindowTimeout > 0, "MNEME_RECALL_WINDOW_TIMEOUT", c.WindowTimeout, "more than zero"),
		config.Require(c.IndexFresh > 0, "MNEME_RECALL_INDEX_FRESH", c.IndexFresh, "more than zero"),
		config.Require(c.IndexTimeout > 0, "MNEME_RECALL_INDEX_TIMEOUT", c.IndexTimeout, "more than zero"),
	)
}

// maxMessage is the maximum size of a decompressed request in bytes.
const maxMessage = 8 << 20

const name = "utilizer"

// compressFrom is the size in bytes from which answers are compressed. Compression of a usual answer takes longer
// than sending it.
const compressFrom = 32 << 10

// Service is the utilizer.
var Service = runner.Define(name, "returns the memories of a user that matter for a query", build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8403"))

func build(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	b := &wiring.Builder{}
	tenants, client, err := b.Open(ctx, name, cfg.Tenants, cfg.Bus, tel)
	if err != nil {
		return nil, err
	}
	recorded, err := b.Account(&cfg.Model, cfg.Window.Redis, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	recaller, err := cfg.recaller(ctx, b, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	temporal, err := cfg.Workflows.Open(ctx, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("temporal", func() error { temporal.Close(); return nil })
	// The index cache is empty at the start, so only later changes matter.
	group := cfg.Group + "-" + uuid.NewString()
	consume, err := client.ConsumeNew(contract.TopicMemoryChanges, group, dropChanged(recaller.Indexes))
	if err != nil {
		return b.Abandon(ctx, err)
	}
	traces, err := interceptor(tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	handlerOptions := connect.WithHandlerOptions(connect.WithInterceptors(traces),
		connect.WithCompressMinBytes(compressFrom), connect.WithReadMaxBytes(maxMessage))
	mux := http.NewServeMux()
	answers := &server{recaller: recaller, feedback: client.Publisher, log: tel.Log}
	if recorded != nil {
		answers.fared = recorded.Fared
	}
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(answers, handlerOptions))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(&memoryServer{
		bank: recaller.Bank, window: recaller.Window, writer: cfg.Workflows.Starter(temporal), indexes: recaller.Indexes,
		log: tel.Log,
	}, handlerOptions))
	data, err := cfg.userData(b, client, temporal, recaller, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	mux.Handle(mnemev1connect.NewUserDataServiceHandler(data, handlerOptions))
	mux.Handle(mnemev1connect.NewDiagnosisServiceHandler(&diagnosisServer{answers: &server{recaller: recaller,
		log: tel.Log}}, handlerOptions))
	if b.App.Handler, err = cfg.Inside.Require(tenants, tel, mux); err != nil {
		return b.Abandon(ctx, err)
	}
	b.Background(consume, runner.Task{Name: "learned weights", Run: recaller.Learned.Run})
	return &b.App, nil
}

// userData opens the additional parts of the user data service.
func (c Config) userData(
	b *wiring.Builder, busClient *wiring.BusClient, temporal client.Client, r *Recaller, tel *telemetry.Telemetry,
) (*userDataServer, error) {
	stores, free, err := wiring.OpenErasureStores(busClient, c.Workflows, c.Window.Redis, temporal, wiring.Groups{}, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("erasure stores", free)
	claims, err := c.Window.Redis.Open(tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("claims of imports", claims.Close)
	return &userDataServer{
		out: busClient.Publisher, erasures: erasure.Starter{Client: temporal},
		scanner: erasure.Scanner{Bank: r.Bank, Window: r.Window, Stores: stores}, transport: busClient.TransportTopics,
		importer: transfer.Importer{Bank: r.Bank, Embedder: r.Embedder}, writes: c.Workflows.Starter(temporal).Runs,
		claims: importClaims{claims}, indexes: r.Indexes, now: time.Now, log: tel.Log,
	}, nil
}

// recaller opens the parts of recall.
func (c Config) recaller(ctx context.Context, b *wiring.Builder, tel *telemetry.Telemetry) (*Recaller, error) {
	embedder, free, err := c.Embedding.Open(ctx, c.Model, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("embedder", free)
	bank, free, err := wiring.OpenBank(ctx, c.Bank, embedder, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("bank", free)
	win, free, err := c.Window.Open(tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("window", free)
	policies, free, err := c.Model.OpenRecallPolicies(c.Recall, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("models", free)
	traces, err := interceptor(tel)
	if err != nil {
		return nil, err
	}
	metrics, err := NewMetrics(tel.Meter.Meter(wiring.Scope))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, MaxIdleConnsPerHost: 64}
	b.OnClose("reranker client", func() error { transport.CloseIdleConnections(); return nil })
	prior, err := c.Prior.OpenFor(embedder)
	if err != nil {
		return nil, err
	}
	store, free, err := c.Window.Redis.OpenTenantWeights(tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("weights", free)
	learned, err := NewLearnedWeights(store, prior.Weights, c.WeightsAge, time.Now, tel.Meter.Meter(wiring.Scope), tel.Log)
	if err != nil {
		return nil, err
	}
	support, err := features.ShippedSupport()
	if err != nil {
		return nil, err
	}
	relevance, err := features.ShippedRelevance()
	if err != nil {
		return nil, err
	}
	indexes := NewIndexCache(bank, wordvector.Shipped(),
		IndexCacheOptions{Bytes: int(c.IndexSize), Entries: c.IndexEntries, Fresh: c.IndexFresh}, tel.Log)
	b.OnClose("index cache", indexes.Close)
	return &Recaller{
		Bank: bank, Window: win, Embedder: embedder, Policies: policies.Find, Fallback: recallembedded.NewProfiler(),
		Ranker: remoteRanker{mnemev1connect.NewRerankerServiceClient(&http.Client{Transport: transport}, c.RerankerURL,
			connect.WithInterceptors(traces, rpcauth.Forward()))},
		Indexes: indexes, Learned: learned, Prior: prior.Weights, Support: support, Relevance: relevance,
		Projector: ranking.NewProjector(), Floor: c.Floor, OwnPlaces: c.OwnPlaces,
		Tracer: tel.Tracer.Tracer(wiring.Scope), Metrics: metrics, Log: tel.Log,
		Alpha: float32(c.Alpha), RankTimeout: c.RankTimeout, WindowTimeout: c.WindowTimeout,
		IndexTimeout: c.IndexTimeout, Reserve: c.Reserve, AnswerTime: c.AnswerTime, Now: time.Now,
	}, nil
}

func interceptor(tel *telemetry.Telemetry) (*otelconnect.Interceptor, error) {
	return otelconnect.NewInterceptor(otelconnect.WithTracerProvider(tel.Tracer), otelconnect.WithMeterProvider(tel.Meter),
		otelconnect.WithPropagator(tel.Propagator), otelconnect.WithTrustRemote())
}

// dropChanged is the bus handler for memory changes. An unreadable change is a terminal error.
func dropChanged(s *IndexCache) bus.Handler {
	return func(_ context.Context, batch []bus.Message) error {
		for _, m := range batch {
			change, err := contract.DecodeMemoryChange(m.Key, m.Value)
			if err != nil {
				return err
			}
			s.Drop(change.Scope)
		}
		return nil
	}
}

package wiring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/guard"
	formationllm "github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/formation/strategies"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/embedding/encoder"
	"github.com/mneme-memory/mneme/shared/model/embedding/endpoint"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/recall"
	recallembedded "github.com/mneme-memory/mneme/shared/recall/embedded"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
	"github.com/mneme-memory/mneme/shared/store/records"
	"github.com/mneme-memory/mneme/shared/store/usage"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Model is the model endpoint for tenants of policy llm. Without a model name there is no endpoint, and the data of
// such tenants waits.
type Model struct {
	Endpoint llm.Config `envPrefix:"MNEME_LLM_"`
	// Record turns on the recording of calls. Records hold users' texts.
	Record  bool            `env:"MNEME_LLM_RECORD" desc:"whether the prompts and answers of models are kept in Redis, for training; they contain users' text, and an erasure deletes them"`
	Records records.Options `envPrefix:"MNEME_LLM_RECORD_"`

	// DayTokens is a budget: above it, the embedded policy does the work.
	DayTokens int64 `env:"MNEME_LLM_TENANT_TOKENS_PER_DAY" envDefault:"0" desc:"model tokens that a tenant may use a day, in UTC; beyond it, the embedded policy decides, and its results wait for a replay of handler budget; 0 for no limit"`

	used    func(ctx context.Context, tenant string, tokens int64)
	record  func(ctx context.Context, r llm.Record)
	allowed func(ctx context.Context, tenant string) bool
}

// Validate checks the limits that the types do not express.
func (m Model) Validate() error {
	return config.Require(m.DayTokens >= 0, "MNEME_LLM_TENANT_TOKENS_PER_DAY", m.DayTokens, "0 or more")
}

// Account counts the model's tokens as usage of the tenants, if there is a model. It records the model's calls if the
// configuration says so. It returns the store of records, or nil without recording. It does not wait for Redis.
func (b *Builder) Account(m *Model, r Redis, tel *telemetry.Telemetry) (*records.Store, error) {
	if err := b.countTokens(m, r, tel); err != nil || !m.Record || !m.configured() {
		return nil, err
	}
	o := m.Records
	o.Log, o.Meter = tel.Log, tel.Meter.Meter(Scope)
	store, free, err := r.OpenRecords(o, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("redis of records", free)
	// after all users of models have stopped
	b.OnClose("records", func() error { store.Flush(context.Background()); return nil })
	b.Background(runner.Task{Name: "records", Run: store.Run})
	m.record = store.Keep
	return store, nil
}

// OpenUsage opens the counts of the tenants' usage. The caller closes the connection with the returned function.
func (r Redis) OpenUsage(tel *telemetry.Telemetry) (*usage.Counter, func() error, error) {
	return openOver(r, tel, func(c goredis.UniversalClient) (*usage.Counter, error) {
		return usage.New(c, usage.Options{Meter: tel.Meter.Meter(Scope), Log: tel.Log})
	})
}

func (b *Builder) countTokens(m *Model, r Redis, tel *telemetry.Telemetry) error {
	if !m.configured() {
		return nil
	}
	counter, free, err := r.OpenUsage(tel)
	if err != nil {
		return err
	}
	b.OnClose("redis of usage", free)
	// after all users of models have stopped
	b.OnClose("usage", func() error { counter.Close(context.Background()); return nil })
	b.Background(runner.Task{Name: "usage", Run: counter.Run})
	m.used = func(ctx context.Context, tenant string, tokens int64) {
		counter.Count(ctx, tenant, usage.Tokens, tokens)
	}
	if m.DayTokens > 0 {
		m.allowed = newBudget(m.DayTokens, counter, tel.Log).allows
	}
	return nil
}

func (m Model) configured() bool {
	return m.Endpoint.HasModel()
}

// nothing is the close function of parts that need no closing.
func nothing() error { return nil }

// open creates the client and its close function. The client is nil if no model is configured.
func (m Model) open(tel *telemetry.Telemetry) (*llm.Client, func() error, error) {
	if !m.configured() {
		return nil, nothing, nil
	}
	c, err := llm.NewClient(m.Endpoint, llm.Deps{
		Logger: tel.Log, MeterProvider: tel.Meter, TracerProvider: tel.Tracer, Used: m.used, Record: m.record,
		Allowed: m.allowed,
	})
	if err != nil {
		return nil, nil, invalidModel(err)
	}
	return c, func() error { c.Close(); return nil }, nil
}

func invalidModel(err error) error { return fault.Terminal("MNEME_LLM_*", "%w", err) }

// errNoModel is retryable: the turns are valid, but the operator must configure a model.
var errNoModel = errors.New("the tenant's policy is llm, but MNEME_LLM_MODEL is not set")

// missing returns the error for a policy without an implementation.
func missing(p tenant.Policy) error {
	if p == tenant.PolicyLLM {
		return errNoModel
	}
	return fault.Terminal("policy", "is %q, want one of %q", p, tenant.Policies())
}

// Embedding selects the embedder.
type Embedding struct {
	Kind   string `env:"MNEME_EMBEDDING" envDefault:"builtin" oneof:"builtin|endpoint|encoder" desc:"builtin, the model server's /embeddings (endpoint), or a sentence encoder in the process (encoder)"`
	Folder string `env:"MNEME_EMBEDDING_FOLDER" desc:"folder of the sentence encoder with model.onnx, tokenizer.json and config.json, in the layout of sentence-transformers"`

	Endpoint endpoint.Options `envPrefix:"MNEME_EMBEDDING_"`
	// Cache is the number of texts with vectors cached in the process.
	Cache int `envDefault:"10000"`
}

// Open creates the embedder.
func (e Embedding) Open(
	ctx context.Context, m Model, tel *telemetry.Telemetry,
) (embedding.Embedder, func() error, error) {
	if e.Kind == "builtin" {
		return embedding.Cached(builtin.New(), e.Cache), nothing, nil
	}
	if e.Kind == "encoder" {
		opened, err := encoder.Open(e.Folder, tel.Log)
		if err != nil {
			return nil, nil, fault.Terminal("MNEME_EMBEDDING_FOLDER", "%w", err)
		}
		return embedding.Cached(embedding.Traced(opened, tel.Tracer.Tracer(Scope)), e.Cache), nothing, nil
	}
	if err := config.Require(m.Endpoint.ModelFor(llm.RoleEmbedding) != "", "MNEME_LLM_MODEL_EMBEDDING", "",
		"the name of the embedding model, because MNEME_EMBEDDING is endpoint"); err != nil {
		return nil, nil, fault.Terminal("MNEME_LLM_MODEL_EMBEDDING", "%v", err)
	}
	client, free, err := m.open(tel)
	if err != nil {
		return nil, nil, err
	}
	opened, err := endpoint.New(ctx, client, e.Endpoint)
	if err != nil {
		return nil, nil, errors.Join(runner.Need("embedding endpoint", err), free())
	}
	return embedding.Cached(embedding.Traced(opened, tel.Tracer.Tracer(Scope)), e.Cache), free, nil
}

// Filters finds the saliency filter of a policy.
type Filters struct {
	of      map[tenant.Policy]formation.Filter
	trained *trainedPolicies
}

// Find returns the filter of a policy.
func (f Filters) Find(p tenant.Policy) (formation.Filter, error) {
	if p.Version() != "" {
		trained, err := f.trained.find(p)
		if err != nil {
			return nil, err
		}
		return saliency.NewTrained().Deciding(trained, trained.Version), nil
	}
	if found, ok := f.of[p]; ok {
		return found, nil
	}
	return nil, missing(p)
}

// Asks reports whether a filter uses a model.
func (f Filters) Asks() bool { return f.of[tenant.PolicyLLM] != nil }

// Keep replaces the filter that uses a model by a wrapped one.
func (f Filters) Keep(keeping func(formation.Filter) formation.Filter) {
	f.of[tenant.PolicyLLM] = keeping(f.of[tenant.PolicyLLM])
}

// Decisions are the trained policies of decisions.
type Decisions struct {
	Folder string `env:"MNEME_DECISION_POLICIES" desc:"folder of policies from mneme-lab train policy, in addition to the built-in ones; tenants with the policy embedded@VERSION use them for the filter, profiles and formation; a new file is found at once"`
}

// FormationOptions adapt the policies of formation.
type FormationOptions struct {
	Options   formationllm.Options `envPrefix:"MNEME_LLM_"`
	Decisions Decisions
}

// OpenFilters creates the filters of all policies.
func (m Model) OpenFilters(o FormationOptions, tel *telemetry.Telemetry) (Filters, func() error, error) {
	trained, err := newTrainedPolicies(o.Decisions)
	if err != nil {
		return Filters{}, nil, err
	}
	filters := Filters{map[tenant.Policy]formation.Filter{tenant.PolicyEmbedded: saliency.NewTrained()}, trained}
	client, free, err := m.open(tel)
	if err != nil || client == nil {
		return filters, free, err
	}
	byModel, err := formationllm.NewFilter(client, o.Options)
	if err != nil {
		return Filters{}, nil, errors.Join(invalidModel(err), free())
	}
	filters.of[tenant.PolicyLLM] = withinBudget{byModel, filters.of[tenant.PolicyEmbedded]}
	return filters, free, nil
}

// withinBudget is a filter with a model, and another filter for tenants with a used-up budget.
type withinBudget struct{ model, other formation.Filter }

// Filter implements formation.Filter.
func (f withinBudget) Filter(
	ctx context.Context, scope memory.Scope, turns, before []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	out, err := f.model.Filter(ctx, scope, turns, before)
	if errors.Is(err, llm.ErrBudget) {
		return f.other.Filter(ctx, scope, turns, before)
	}
	return out, err
}

// variant is a strategy under one policy.
type variant struct {
	strategy tenant.Strategy
	policy   tenant.Policy
}

// Formers are the formers of memory, by strategy and policy.
type Formers struct {
	of      map[variant]formation.Former
	trained *trainedPolicies
	// made holds the formers of trained policies by version. share wraps a former so that it divides its work.
	made  *sync.Map
	share func(formation.Former) formation.Former
}

// Find returns the former of a strategy and policy. An unknown strategy or policy is a terminal error. A model
// without configuration is a retryable error.
func (f Formers) Find(strategy, policy string) (formation.Former, error) {
	if p := tenant.Policy(policy); p.Version() != "" && tenant.Strategy(strategy) == tenant.StrategySalimory {
		trained, err := f.trained.find(p)
		if err != nil {
			return nil, err
		}
		made, ok := f.made.Load(trained.Version)
		if !ok {
			made, _ = f.made.LoadOrStore(trained.Version,
				f.share(guard.New(salimory.NewEmbedded().Deciding(trained, trained.Version))))
		}
		return made.(formation.Former), nil
	}
	if found, ok := f.of[variant{tenant.Strategy(strategy), tenant.Policy(policy)}]; ok {
		return found, nil
	}
	if !slices.Contains(tenant.Strategies(), tenant.Strategy(strategy)) {
		return nil, fault.Terminal("strategy", "is %q, want one of %q", strategy, tenant.Strategies())
	}
	return nil, missing(tenant.Policy(policy))
}

// OpenFormers creates the formers of all strategies and policies.
func (m Model) OpenFormers(o FormationOptions, tel *telemetry.Telemetry) (Formers, func() error, error) {
	alone := func(f formation.Former) formation.Former { return f }
	trained, err := newTrainedPolicies(o.Decisions)
	if err != nil {
		return Formers{}, nil, err
	}
	formers := Formers{map[variant]formation.Former{}, trained, &sync.Map{}, alone}
	for _, s := range strategies.All() {
		formers.of[variant{tenant.Strategy(s.Name), tenant.PolicyEmbedded}] = s.Embedded()
	}
	client, free, err := m.open(tel)
	if err != nil || client == nil {
		return formers, free, err
	}
	for _, s := range strategies.All() {
		f, err := s.LLM(client, o.Options)
		if err != nil {
			return Formers{}, nil, errors.Join(invalidModel(fmt.Errorf("strategy %s: %w", s.Name, err)), free())
		}
		formers.of[variant{tenant.Strategy(s.Name), tenant.PolicyLLM}] = f
	}
	return formers, free, nil
}

// RecallPolicy writes profiles and answers.
type RecallPolicy struct {
	recall.Profiler
	recall.Generator
}

// RecallPolicies are the query-time policies.
type RecallPolicies struct {
	of      map[tenant.Policy]RecallPolicy
	trained *trainedPolicies
}

// Find returns the query-time policy of a tenant policy.
func (r RecallPolicies) Find(p tenant.Policy) (recall.Profiler, recall.Generator, error) {
	if p.Version() != "" {
		trained, err := r.trained.find(p)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %v", fault.ErrUnavailable, err) //nolint:errorlint // the caller is not at fault
		}
		return recallembedded.NewProfiler().Deciding(trained), r.of[tenant.PolicyEmbedded].Generator, nil
	}
	if found, ok := r.of[p]; ok {
		return found.Profiler, found.Generator, nil
	}
	return nil, nil, missing(p)
}

// RecallOptions adapt the llm policy of recall.
type RecallOptions struct {
	Options   recallllm.Options `envPrefix:"MNEME_LLM_"`
	Decisions Decisions
}

// OpenRecallPolicies creates the query-time policies of all policies.
func (m Model) OpenRecallPolicies(o RecallOptions, tel *telemetry.Telemetry) (RecallPolicies, func() error, error) {
	trained, err := newTrainedPolicies(o.Decisions)
	if err != nil {
		return RecallPolicies{}, nil, err
	}
	out := RecallPolicies{
		map[tenant.Policy]RecallPolicy{tenant.PolicyEmbedded: {recallembedded.NewProfiler(), recallembedded.NewGenerator()}},
		trained,
	}
	client, free, err := m.open(tel)
	if err != nil || client == nil {
		return out, free, err
	}
	profiler, err1 := recallllm.NewProfiler(client, o.Options)
	generator, err2 := recallllm.NewGenerator(client, o.Options)
	if err := errors.Join(err1, err2); err != nil {
		return RecallPolicies{}, nil, errors.Join(invalidModel(err), free())
	}
	out.of[tenant.PolicyLLM] = RecallPolicy{profiler, generator}
	return out, free, nil
}

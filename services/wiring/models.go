package wiring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/mneme-memory/mneme/shared/decision"
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

// Model is the endpoint that tenants of policy llm are served by. Without a model name there is
// none, and such tenants' data waits.
type Model struct {
	Endpoint llm.Config `envPrefix:"MNEME_LLM_"`
	// Record has calls be recorded; they hold what users said.
	Record  bool            `env:"MNEME_LLM_RECORD" desc:"whether what models are asked and answer is kept in Redis, to learn from; it holds what users say, and goes with an erasure"`
	Records records.Options `envPrefix:"MNEME_LLM_RECORD_"`

	// DayTokens is a budget: what goes beyond it is done by the embedded policy.
	DayTokens int64 `env:"MNEME_LLM_TENANT_TOKENS_PER_DAY" envDefault:"0" desc:"tokens of models that a tenant may use a day, in UTC; from then on the embedded policy decides, and what it formed waits for a replay of handler budget; 0 for no limit"`

	used    func(ctx context.Context, tenant string, tokens int64)
	record  func(ctx context.Context, r llm.Record)
	allowed func(ctx context.Context, tenant string) bool
}

// Validate checks what the types do not.
func (m Model) Validate() error {
	return config.Require(m.DayTokens >= 0, "MNEME_LLM_TENANT_TOKENS_PER_DAY", m.DayTokens, "0 or more")
}

// Account has the tokens that the model uses from now on be counted as usage of the tenants, where there is a model, and its calls be
// recorded where that is wanted. It returns where they are, nil where they are not. It does not wait for Redis.
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
	b.OnClose("records", func() error { store.Flush(context.Background()); return nil }) // after what uses models has stopped
	b.Background(runner.Task{Name: "records", Run: store.Run})
	m.record = store.Keep
	return store, nil
}

func (b *Builder) countTokens(m *Model, r Redis, tel *telemetry.Telemetry) error {
	if !m.configured() {
		return nil
	}
	client, err := r.client(tel)
	if err != nil {
		return err
	}
	b.OnClose("redis of usage", client.Close)
	counter, err := usage.New(client, usage.Options{Meter: tel.Meter.Meter(Scope), Log: tel.Log})
	if err != nil {
		return err
	}
	b.OnClose("usage", func() error { counter.Close(context.Background()); return nil }) // after what uses models has stopped
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
	return m.Endpoint.Model != "" || m.Endpoint.Models != (llm.Models{})
}

// nothing is what closes what needs no closing.
func nothing() error { return nil }

// open makes the client and what closes it; the client is nil when no model is configured.
func (m Model) open(tel *telemetry.Telemetry) (*llm.Client, func() error, error) {
	if !m.configured() {
		return nil, nothing, nil
	}
	c, err := llm.NewClient(m.Endpoint, llm.Deps{
		Logger: tel.Log, MeterProvider: tel.Meter, TracerProvider: tel.Tracer, Used: m.used, Record: m.record, Allowed: m.allowed,
	})
	if err != nil {
		return nil, nil, invalidModel(err)
	}
	return c, func() error { c.Close(); return nil }, nil
}

func invalidModel(err error) error { return fault.Terminal("MNEME_LLM_*", "%w", err) }

// errNoModel is retryable: the turns are fine, the operator has to set a model.
var errNoModel = errors.New("the tenant's policy is llm, but MNEME_LLM_MODEL is not set")

// missing says why there is nothing of a policy.
func missing(p tenant.Policy) error {
	if p == tenant.PolicyLLM {
		return errNoModel
	}
	return fault.Terminal("policy", "is %q, want one of %q", p, tenant.Policies())
}

// Embedding chooses what makes vectors.
type Embedding struct {
	Kind   string `env:"MNEME_EMBEDDING" envDefault:"builtin" oneof:"builtin|endpoint|encoder" desc:"builtin, the model server's /embeddings (endpoint), or a sentence encoder in the process (encoder)"`
	Folder string `env:"MNEME_EMBEDDING_FOLDER" desc:"folder of the sentence encoder: model.onnx, tokenizer.json, config.json, as sentence-transformers lays them out"`

	Endpoint endpoint.Options `envPrefix:"MNEME_EMBEDDING_"`
	Cache    int              `env:"MNEME_EMBEDDING_CACHE" envDefault:"10000" desc:"texts whose vectors are remembered in the process"`
}

// Open makes the embedder.
func (e Embedding) Open(ctx context.Context, m Model, tel *telemetry.Telemetry) (embedding.Embedder, func() error, error) {
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
type Filters map[tenant.Policy]formation.Filter

// Find is as services want it.
func (f Filters) Find(p tenant.Policy) (formation.Filter, error) {
	if found, ok := f[p]; ok {
		return found, nil
	}
	return nil, missing(p)
}

// Decisions is a trained policy of decisions.
type Decisions struct {
	File string `env:"MNEME_DECISION_POLICY" desc:"file of a policy that mneme train policy made, for tenants of policy embedded: their filter, their profiles, and what is formed of those of strategy salimory; empty for the rules"`
}

// FormationOptions adapt the policies of formation.
type FormationOptions struct {
	Options   formationllm.Options `envPrefix:"MNEME_LLM_"`
	Decisions Decisions
}

// read returns the trained policy; nil where there is none.
func (d Decisions) read() (*decision.Policy, error) {
	if d.File == "" {
		return nil, nil
	}
	data, err := os.ReadFile(d.File)
	if err != nil {
		return nil, fault.Terminal("MNEME_DECISION_POLICY", "%w", err)
	}
	p, err := decision.Decode(data)
	if err != nil {
		return nil, fault.Terminal("MNEME_DECISION_POLICY", "%s: %w", d.File, err)
	}
	return p, nil
}

// OpenFilters makes the filters of every policy there is.
func (m Model) OpenFilters(o FormationOptions, tel *telemetry.Telemetry) (Filters, func() error, error) {
	trained, err := o.Decisions.read()
	if err != nil {
		return nil, nil, err
	}
	filters := Filters{tenant.PolicyEmbedded: saliency.NewTrained()}
	if trained != nil {
		filters[tenant.PolicyEmbedded] = saliency.NewTrained().Deciding(trained, trained.Version)
	}
	client, free, err := m.open(tel)
	if err != nil || client == nil {
		return filters, free, err
	}
	byModel, err := formationllm.NewFilter(client, o.Options)
	if err != nil {
		return nil, nil, errors.Join(invalidModel(err), free())
	}
	filters[tenant.PolicyLLM] = withinBudget{byModel, filters[tenant.PolicyEmbedded]}
	return filters, free, nil
}

// withinBudget is a filter by a model, and another for tenants whose budget is used up.
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

// variant is a strategy as one policy runs it.
type variant struct {
	strategy tenant.Strategy
	policy   tenant.Policy
}

// Formers are what forms memory, by strategy and policy.
type Formers map[variant]formation.Former

// Find is as consolidation wants it. A strategy or policy that there is none of is a terminal error; a model that is not configured is
// worth waiting for.
func (f Formers) Find(strategy, policy string) (formation.Former, error) {
	if found, ok := f[variant{tenant.Strategy(strategy), tenant.Policy(policy)}]; ok {
		return found, nil
	}
	if !slices.Contains(tenant.Strategies(), tenant.Strategy(strategy)) {
		return nil, fault.Terminal("strategy", "is %q, want one of %q", strategy, tenant.Strategies())
	}
	return nil, missing(tenant.Policy(policy))
}

// OpenFormers makes the formers of every strategy and policy there is.
func (m Model) OpenFormers(o FormationOptions, tel *telemetry.Telemetry) (Formers, func() error, error) {
	formers := Formers{}
	for _, s := range strategies.All() {
		formers[variant{tenant.Strategy(s.Name), tenant.PolicyEmbedded}] = s.Embedded()
	}
	trained, err := o.Decisions.read()
	if err != nil {
		return nil, nil, err
	}
	if trained != nil {
		formers[variant{tenant.StrategySalimory, tenant.PolicyEmbedded}] = guard.New(salimory.NewEmbedded().Deciding(trained, trained.Version))
	}
	client, free, err := m.open(tel)
	if err != nil || client == nil {
		return formers, free, err
	}
	for _, s := range strategies.All() {
		f, err := s.LLM(client, o.Options)
		if err != nil {
			return nil, nil, errors.Join(invalidModel(fmt.Errorf("strategy %s: %w", s.Name, err)), free())
		}
		formers[variant{tenant.Strategy(s.Name), tenant.PolicyLLM}] = f
	}
	return formers, free, nil
}

// RecallPolicy writes profiles and answers.
type RecallPolicy struct {
	recall.Profiler
	recall.Generator
}

// RecallPolicies are the query-time policies there are.
type RecallPolicies map[tenant.Policy]RecallPolicy

// Find is as the utilizer wants it.
func (r RecallPolicies) Find(p tenant.Policy) (recall.Profiler, recall.Generator, error) {
	if found, ok := r[p]; ok {
		return found.Profiler, found.Generator, nil
	}
	return nil, nil, missing(p)
}

// RecallOptions adapt the llm policy of recall.
type RecallOptions struct {
	Options   recallllm.Options `envPrefix:"MNEME_LLM_"`
	Decisions Decisions
}

// OpenRecallPolicies makes the query-time policies of every policy there is.
func (m Model) OpenRecallPolicies(o RecallOptions, tel *telemetry.Telemetry) (RecallPolicies, func() error, error) {
	trained, err := o.Decisions.read()
	if err != nil {
		return nil, nil, err
	}
	profiler := recallembedded.NewProfiler()
	if trained != nil {
		profiler = profiler.Deciding(trained)
	}
	out := RecallPolicies{tenant.PolicyEmbedded: {profiler, recallembedded.NewGenerator()}}
	client, free, err := m.open(tel)
	if err != nil || client == nil {
		return out, free, err
	}
	byModel, err1 := recallllm.NewProfiler(client, o.Options)
	generator, err2 := recallllm.NewGenerator(client, o.Options)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, errors.Join(invalidModel(err), free())
	}
	out[tenant.PolicyLLM] = RecallPolicy{byModel, generator}
	return out, free, nil
}

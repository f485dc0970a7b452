package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/mneme-memory/mneme/evaluation/baseline"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/recall"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/conversations"
	"github.com/mneme-memory/mneme/local/cli/laptop"
	"github.com/mneme-memory/mneme/local/cli/memories"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// measured is the measured Mneme.
type measured struct {
	*console.Session
	service recall.Service
	bare    recall.BareQuery
	// stack is the started stack; nil if the command measures a running Mneme.
	stack *standalone.Stack
	// dir is a temporary folder with input of the stack.
	dir   string
	frees []func(context.Context) error
}

func (m *measured) stop(ctx context.Context) error {
	var errs []error
	for i := len(m.frees) - 1; i >= 0; i-- {
		errs = append(errs, m.frees[i](ctx))
	}
	return errors.Join(errs...)
}

// publishOne publishes one session.
func (m *measured) publishOne(ctx context.Context, s dataset.Session) (recall.Published, error) {
	out, err := conversations.Publish(ctx, m.Session, []dataset.Session{s}, func(int) {})
	return recall.Published{Refused: out.Refused, Ends: len(out.Awaited) > 0}, err
}

// use makes the clients of the measured Mneme.
func (m *measured) use(s *console.Session) {
	m.Session = s
	m.service = recall.Service{
		Utilizer: s.UtilizerServiceClient, Memories: s.MemoryServiceClient, UserData: s.UserDataServiceClient,
		Diagnosis: s.DiagnosisServiceClient, Reranker: s.RerankerServiceClient,
	}
	m.frees = append(m.frees, func(ctx context.Context) error { s.Close(ctx); return nil })
}

// options builds the options from the flags.
func (m *measured) options(a recallArgs) (_ recall.Options, err error) {
	o := recall.Options{
		Tenant: m.Tenant, Publish: m.publishOne, Bare: m.bare, Service: m.service, Candidates: a.candidates,
		Memories: a.memories, Words: a.words, Workers: a.workers, Users: a.users, LatencySample: a.timed,
		Answers: a.answers,
	}
	if a.timed == 0 {
		o.LatencySample = -1
	}
	if a.learn {
		fold := recall.FoldDefaults()
		fold.Passes, o.Learn = a.passes, &fold
	}
	if err := m.vary(a, &o); err != nil {
		return o, err
	}
	if a.judge {
		if o.Judge, err = m.openJudge(); err != nil {
			return o, err
		}
	}
	if a.extractor != "" {
		o.Observed, err = m.observed(cmp.Or(a.strategy, command.StrategyNames()[0]))
	}
	return o, err
}

func (m *measured) openJudge() (*recall.Judge, error) {
	settings, err := config.Load[command.JudgeSettings](config.Environ())
	if err != nil {
		return nil, command.Usage(err)
	}
	answers, err := m.openModel(settings.Endpoint)
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--judge needs a model (MNEME_LLM_*): %w", err))
	}
	judge := answers
	if settings.Judge.Model != "" {
		if judge, err = m.openModel(settings.Judge); err != nil {
			return nil, command.Usage(fmt.Errorf("MNEME_JUDGE_*: %w", err))
		}
	}
	return recall.NewJudge(judge, answers, m.Tenant)
}

func (m *measured) openModel(endpoint llm.Config) (*llm.Client, error) {
	client, err := llm.NewClient(endpoint, llm.Deps{Logger: m.Telemetry.Log, MeterProvider: m.Telemetry.Meter,
		TracerProvider: m.Telemetry.Tracer})
	if err == nil {
		m.frees = append(m.frees, func(context.Context) error { client.Close(); return nil })
	}
	return client, err
}

// observed opens the parts that form memories from observations.
func (m *measured) observed(strategy string) (*recall.Observed, error) {
	formers, free, err := wiring.Model{}.OpenFormers(wiring.FormationOptions{}, m.Telemetry)
	if err != nil {
		return nil, err
	}
	m.frees = append(m.frees, func(context.Context) error { return free() })
	former, err := formers.Find(strategy, string(tenant.PolicyEmbedded))
	if err != nil {
		return nil, err
	}
	return &recall.Observed{
		Former: former, Strategy: strategy, Embedder: builtin.New(),
		Import: func(ctx context.Context, user string, export io.Reader) error {
			_, _, err := memories.Import(ctx, m.Session, user, export)
			return err
		},
	}, nil
}

// openMeasured connects to a running Mneme, or starts one.
func (c commands) openMeasured(ctx context.Context, a recallArgs) (_ *measured, err error) {
	m := &measured{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.stop(context.WithoutCancel(ctx)))
		}
	}()
	if a.connect {
		if a.dataDir != "" {
			c.Dir = a.dataDir
		}
		s, err := c.Connect(ctx)
		if err != nil {
			return nil, err
		}
		m.use(s)
		if os.Getenv("MNEME_WEAVIATE_GRPC") == "" {
			fmt.Fprintln(c.Err, "MNEME_WEAVIATE_GRPC is not set: recall is not compared with a bare query of the bank")
			return m, nil
		}
		return m, m.openBare(ctx, config.Environ())
	}
	stack, err := m.start(ctx, c.Console, a)
	if err != nil {
		return nil, err
	}
	s, err := c.Open(ctx, stack.Connection)
	if err != nil {
		return nil, err
	}
	m.use(s)
	return m, m.openBare(ctx, stack.Settings())
}

// start starts a Mneme with production settings where the standalone's settings differ. It disables the cache of
// recalls, because a cached recall would not be measured.
func (m *measured) start(ctx context.Context, c *console.Console, a recallArgs) (*standalone.Stack, error) {
	temporary, err := os.MkdirTemp("", "mneme-eval-")
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	m.dir, m.frees = temporary, append(m.frees, func(context.Context) error { return os.RemoveAll(temporary) })
	dir := a.dataDir
	if dir == "" {
		dir = filepath.Join(temporary, "data")
	}
	environ := map[string]string{"MNEME_TELEMETRY_SAMPLE_RATIO": "0.01", "MNEME_LOG_LEVEL": "warn"}
	if a.learn { // faster than users are, and on a stack without other users
		environ["MNEME_RERANKER_USER_RATE"], environ["MNEME_RERANKER_TENANT_RATE"] = "1000000", "1000000"
	}
	maps.Copy(environ, laptop.ServiceSettings())
	stack, err := standalone.Start(ctx,
		standalone.Options{Dir: dir, Progress: c.Err, Strategy: a.strategy, Policy: a.policy, Environ: environ})
	if errors.Is(err, standalone.ErrOtherTenant) {
		return nil, command.Usage(err)
	}
	if err != nil {
		return nil, err
	}
	m.stack, m.frees = stack, append(m.frees, stack.Stop)
	return stack, nil
}

// bareSettings are the search settings of the service and the address of the bank's server.
type bareSettings struct {
	Bank      weaviate.Config
	Model     wiring.Model
	Embedding wiring.Embedding
	Alpha     float32 `env:"MNEME_RECALL_ALPHA" envDefault:"0.1" desc:"weight of vector against words in retrieval, 0 to 1"`
}

// openBare makes the bare query for comparison with recall.
func (m *measured) openBare(ctx context.Context, environ map[string]string) error {
	settings, err := config.Load[bareSettings](environ)
	if err != nil {
		return command.Usage(err)
	}
	embedder, free, err := settings.Embedding.Open(ctx, settings.Model, m.Telemetry)
	if err != nil {
		return err
	}
	m.frees = append(m.frees, func(context.Context) error { return free() })
	client, err := baseline.Open(settings.Bank)
	if err != nil {
		return err
	}
	m.frees = append(m.frees, func(context.Context) error { return client.Close() })
	m.bare = func(ctx context.Context, user, query string, k int) (time.Duration, error) {
		queries, err := baseline.Queries(ctx, embedder, []string{query})
		if err != nil {
			return 0, err
		}
		took, _, err := client.Search(ctx, memory.Scope{Tenant: m.Tenant, User: user}, queries[0], k, settings.Alpha)
		return took, err
	}
	return nil
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// access gives access to the measured system's own stores.
type access struct {
	Bus       wiring.Bus
	Window    wiring.Window
	Workflows wiring.Workflows
	Bank      weaviate.Config
	Model     wiring.Model
	Embedding wiring.Embedding
}

// system is a running Mneme with clients for everything under it.
type system struct {
	access
	stack     *standalone.Stack
	tel       *telemetry.Telemetry
	busClient *wiring.BusClient
	window    window.Window
	bank      bank.Bank
	embedder  embedding.Embedder
	temporal  client.Client
	utilizer  mnemev1connect.UtilizerServiceClient
	corpus    *corpus
	frees     []func() error
}

// settings returns production settings where the standalone's settings differ. One trace in a hundred is kept, and
// informative log lines are dropped. The gateway counts requests, and its limits admit all requests of the benchmark.
func settings() map[string]string {
	return map[string]string{
		"MNEME_TELEMETRY_SAMPLE_RATIO": "0.01", "MNEME_LOG_LEVEL": "warn",
		"MNEME_GATEWAY_REQUESTS_PER_SECOND": "100000", "MNEME_GATEWAY_TENANT_REQUESTS_PER_SECOND": "100000",
	}
}

// startSystem starts servers and services on an empty folder, and waits until they are ready.
func startSystem(ctx context.Context, dir string, progress io.Writer) (_ *system, err error) {
	stack, err := standalone.Start(ctx, standalone.Options{Dir: dir, Progress: progress, Environ: settings()})
	if err != nil {
		return nil, err
	}
	s := &system{stack: stack, corpus: newCorpus(uint64(time.Now().UnixNano()))} //nolint:gosec // any seed does
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop(context.WithoutCancel(ctx)))
		}
	}()
	if s.access, err = config.Load[access](stack.Settings()); err != nil {
		return nil, err
	}
	if s.tel, err = telemetry.New(ctx, "bench", "", telemetry.Config{LogLevel: "error"}, progress); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, s.firstWrite(ctx)
}

// firstWrite creates the tenant in every collection. Otherwise the first measured session would include this one-time
// cost.
func (s *system) firstWrite(ctx context.Context) error {
	scope := s.scope("first")
	turn := s.turns("first", 1)[0]
	entries, _ := s.corpus.memories(scope, 1, turn.Time.Truncate(time.Millisecond))
	vectors, err := s.embedder.Embed(ctx, []string{entries[0].Content})
	if err != nil {
		return err
	}
	entries[0].Vector = vectors[0]
	return s.bank.Write(ctx, scope, memory.Write{
		Put: entries, Turns: []memory.Turn{turn},
		Session: &memory.SessionRecord{SessionID: turn.SessionID, Closed: true,
			FormedAt: turn.Time.Truncate(time.Millisecond), Turns: 1},
	})
}

// open makes the clients.
func (s *system) open(ctx context.Context) (err error) {
	free := func(f func() error) { s.frees = append(s.frees, f) }
	if s.busClient, err = s.Bus.Open(ctx, "bench", s.tel); err != nil {
		return err
	}
	free(s.busClient.Close)
	var done func() error
	if s.window, done, err = s.Window.Open(s.tel); err != nil {
		return err
	}
	free(done)
	if s.embedder, done, err = s.Embedding.Open(ctx, s.Model, s.tel); err != nil {
		return err
	}
	free(done)
	if s.bank, done, err = wiring.OpenBank(ctx, s.Bank, s.embedder, s.tel); err != nil {
		return err
	}
	free(done)
	if s.temporal, err = s.Workflows.Open(ctx, s.tel); err != nil {
		return err
	}
	free(func() error { s.temporal.Close(); return nil })
	key := s.stack.Connection.APIKey
	s.utilizer = mnemev1connect.NewUtilizerServiceClient(http.DefaultClient, s.stack.Connection.Utilizer,
		connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
				req.Header().Set("Authorization", "Bearer "+key)
				return next(ctx, req)
			}
		})))
	return nil
}

func (s *system) stop(ctx context.Context) error {
	var errs []error
	for i := len(s.frees) - 1; i >= 0; i-- {
		errs = append(errs, s.frees[i]())
	}
	http.DefaultClient.CloseIdleConnections()
	if s.tel != nil {
		errs = append(errs, s.tel.Shutdown(ctx))
	}
	return errors.Join(append(errs, s.stack.Stop(ctx))...)
}

func (s *system) scope(user string) memory.Scope {
	return memory.Scope{Tenant: s.stack.Connection.Tenant, User: user}
}

// turns returns n turns of a session. Every second one is chatter, and the last one is salient.
func (s *system) turns(session string, n int) []memory.Turn {
	out := make([]memory.Turn, n)
	start := time.Now().Add(-time.Hour).UTC()
	for i := range out {
		text := s.corpus.salient()
		if (n-1-i)%2 == 1 {
			text = s.corpus.chatter()
		}
		out[i] = memory.Turn{
			ID: fmt.Sprintf("%s:%d", session, i), SessionID: session, Speaker: "Ines", Role: memory.RoleUser,
			Text: text, Time: start.Add(time.Duration(i) * time.Second),
		}
	}
	return out
}

// events returns the session events of turns.
func events(scope memory.Scope, turns []memory.Turn) ([]bus.Message, error) {
	out := make([]bus.Message, len(turns))
	for i, t := range turns {
		e := contract.SessionEvent{Envelope: contract.Envelope{
			EventID: memory.DeriveTurnID(scope, t.ID), Scope: scope, SessionID: t.SessionID,
		}, Turn: &t}
		value, err := e.Encode()
		if err != nil {
			return nil, err
		}
		out[i] = bus.Message{Topic: contract.TopicSessionEvents, Key: e.Key(), Value: value}
	}
	return out, nil
}

// closing returns the event of a session's end.
func closing(scope memory.Scope, session string) (bus.Message, error) {
	e := contract.SessionEvent{Envelope: contract.Envelope{
		EventID: memory.DeriveSessionID(scope, session), Scope: scope, SessionID: session,
	}, ClosedAt: time.Now().UTC()}
	value, err := e.Encode()
	return bus.Message{Topic: contract.TopicSessionEvents, Key: e.Key(), Value: value}, err
}

// inWindow reports whether W contains a turn.
func (s *system) inWindow(ctx context.Context, scope memory.Scope, turnID string) (bool, error) {
	recent, err := s.window.Recent(ctx, scope, time.Time{})
	if err != nil {
		return false, err
	}
	for _, t := range recent {
		if t.ID == turnID {
			return true, nil
		}
	}
	return false, nil
}

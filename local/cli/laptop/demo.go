package laptop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/conversations"
	"github.com/mneme-memory/mneme/local/cli/memories"
	"github.com/mneme-memory/mneme/local/cli/recall"
	"github.com/mneme-memory/mneme/local/cli/sample"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/local/traceview"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

const (
	demoTimeout = 2 * time.Minute
	// traceTimeout is how long the demo waits for a trace's export. Then it prints the available spans.
	traceTimeout = 10 * time.Second
)

// demoResult is the final output of `demo --json`.
type demoResult struct {
	Users     []demoUser        `json:"users"`
	Memories  []json.RawMessage `json:"memories"`
	Questions []demoQuestion    `json:"questions"`
}

type demoUser struct {
	User     string            `json:"user"`
	Sessions int               `json:"sessions"`
	Turns    int               `json:"turns"`
	Memories int               `json:"memories"`
	Window   []json.RawMessage `json:"window"`
}

type demoQuestion struct {
	User      string            `json:"user"`
	Query     string            `json:"query"`
	Profile   string            `json:"profile"`
	Cited     []json.RawMessage `json:"cited"`
	LatencyMS float64           `json:"latency_ms"`
	TraceID   string            `json:"trace_id"`
}

func (c commands) demo() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show everything once: sessions in, memories formed, a question answered, a user erased",
		Long: "demo starts everything on loopback with a data folder of its own, publishes a bundled sample of two users\n" +
			"with six sessions each, waits until their memories are formed, and stops everything. It prints one page: what\n" +
			"was said, remembered, changed, asked and erased. --all prints every memory, five questions and two traces\n" +
			"instead, and so does --json without the traces.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runDemo(cmd.Context(), all || c.JSON) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "print all memories, questions and traces instead of one page")
	return cmd
}

func (c commands) runDemo(ctx context.Context, all bool) (err error) {
	dir, err := os.MkdirTemp("", "mneme-demo-")
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stack, err := standalone.Start(ctx, standalone.Options{Dir: dir, Progress: c.Err, Environ: laptopSettings()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop(context.WithoutCancel(ctx))) }()
	s, err := c.Open(ctx, stack.Connection)
	if err != nil {
		return err
	}
	sessions, questions, took, err := c.feedSample(ctx, s)
	if err == nil && !all {
		var told *story
		if told, err = readStory(ctx, c.Console, s, sessions, questions); err == nil {
			told.print(c.Out, took)
		}
	}
	if err != nil || !all {
		s.Close(ctx)
		return err
	}
	return c.playAll(ctx, s, stack, sessions, questions)
}

// feedSample publishes the bundled sample, and waits until its memories are formed.
func (c commands) feedSample(ctx context.Context, s *console.Session) (
	sessions []dataset.Session, questions []sample.Question, took time.Duration, err error) {
	if sessions, err = sample.Sessions(); err != nil {
		return nil, nil, 0, err
	}
	if questions, err = sample.Questions(); err != nil {
		return nil, nil, 0, err
	}
	began := time.Now()
	_, err = conversations.Feed(ctx, c.Console, s, sessions, true, demoTimeout)
	return sessions, questions, time.Since(began), err
}

// playAll shows all memories and questions of the sample, and the traces behind the first question.
func (c commands) playAll(ctx context.Context, s *console.Session, stack *standalone.Stack, sessions []dataset.Session,
	questions []sample.Question) error {
	result, err := c.play(ctx, s, sessions, questions)
	s.Close(ctx) // sends the spans of this command, the roots of the traces below
	if err != nil {
		return err
	}
	if c.JSON {
		return command.WriteJSON(c.Out, result)
	}
	return c.printTraces(ctx, stack.Traces, result.Questions)
}

// play shows the results of the sample.
func (c commands) play(ctx context.Context, s *console.Session, sessions []dataset.Session,
	questions []sample.Question) (demoResult, error) {
	var result demoResult
	for _, user := range conversations.Users(sessions) {
		if err := c.playUser(ctx, s, user, sessions, &result); err != nil {
			return result, err
		}
	}
	for _, q := range questions {
		if err := c.playQuestion(ctx, s, q, &result); err != nil {
			return result, err
		}
	}
	return result, nil
}

func (c commands) playUser(
	ctx context.Context, s *console.Session, user string, sessions []dataset.Session, result *demoResult,
) error {
	ms, err := memories.All(ctx, s, &mnemev1.ListMemoriesRequest{UserId: user})
	if err != nil {
		return err
	}
	window, err := s.GetWorkingMemory(ctx, connect.NewRequest(&mnemev1.GetWorkingMemoryRequest{UserId: user}))
	if err != nil {
		return err
	}
	shown := demoUser{User: user, Memories: len(ms), Window: console.JSONs(window.Msg.GetTurns())}
	for _, one := range sessions {
		if one.User == user {
			shown.Sessions++
			shown.Turns += len(one.Turns)
		}
	}
	result.Users = append(result.Users, shown)
	for _, m := range ms {
		result.Memories = append(result.Memories, withUser(user, m))
	}
	if !c.JSON {
		fmt.Fprintf(c.Out, "\nbank of %s:\n", user)
		memories.PrintMemories(c.Console, ms)
		fmt.Fprintf(c.Out, "working memory of %s:\n", user)
		memories.PrintTurns(c.Console, window.Msg.GetTurns())
	}
	return nil
}

// withUser is an entry with its user, for lists of several users.
func withUser(user string, m *mnemev1.Memory) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(console.JSON(m), &fields); err != nil {
		return console.JSON(m)
	}
	fields["user"], _ = json.Marshal(user) //nolint:errcheck // a string always encodes
	out, err := json.Marshal(fields)
	if err != nil {
		return console.JSON(m)
	}
	return out
}

func (c commands) playQuestion(ctx context.Context, s *console.Session, q sample.Question, result *demoResult) error {
	res, err := s.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: q.User, Query: q.Query}))
	if err != nil {
		return err
	}
	r := res.Msg
	result.Questions = append(result.Questions, demoQuestion{
		User: q.User, Query: q.Query, Profile: r.GetProfile(), Cited: console.JSONs(r.GetCited()),
		LatencyMS: r.GetLatencyMs(), TraceID: r.GetTraceId(),
	})
	if !c.JSON {
		fmt.Fprintf(c.Out, "\n%s: %s\n", q.User, q.Query)
		recall.PrintRecall(c.Console, r, s.Traces)
	}
	return nil
}

// printTraces prints the first recall's trace, and the formation trace of the memories that the recall cites.
func (c commands) printTraces(ctx context.Context, store *traceview.Store, questions []demoQuestion) error {
	recall, ok := awaitTrace(ctx, store, questions[0].TraceID, telemetry.SpanRecall)
	if !ok {
		return fmt.Errorf("trace %s did not arrive at the viewer", questions[0].TraceID)
	}
	fmt.Fprintf(c.Out, "\nthe first question's trace (-> links to the trace that formed what it shows):\n%s",
		traceview.Tree(recall))
	for _, span := range recall.Spans {
		for _, link := range span.Links {
			if formed, ok := awaitTrace(ctx, store, link.TraceID, spanWrite); ok {
				fmt.Fprintf(c.Out, "\nthe trace of the session that formed it:\n%s", traceview.Tree(formed))
				fmt.Fprintln(c.Out, "\n`make up` keeps everything running, with traces to look at in the browser")
				return nil
			}
		}
	}
	return nil
}

// spanWrite is the span of the write at the end of a session's formation.
const spanWrite = "memory.bank.write"

// awaitTrace waits until the given span of a trace has been exported. It should be the span that ends last.
func awaitTrace(ctx context.Context, store *traceview.Store, id, span string) (traceview.Trace, bool) {
	ctx, cancel := context.WithTimeout(ctx, traceTimeout)
	defer cancel()
	var t traceview.Trace
	var ok bool
	_ = console.Poll(ctx, conversations.FormationPoll, func() (bool, error) {
		t, ok = store.Trace(id)
		return slices.ContainsFunc(t.Spans, func(s traceview.Span) bool { return s.Name == span }), nil
	})
	return t, ok
}

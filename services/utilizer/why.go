package utilizer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/diagnosis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/text"
)

const (
	// maxExpected is how many turns one request may expect; part of the contract in proto/.
	maxExpected = 100
	// maxDiagnosed is how many entries, or turns, of a user a diagnosis reads: it looks at all of them, page by page.
	maxDiagnosed = 50_000
)

// errTooMuch says that a user's bank is too large to be looked through.
var errTooMuch = fmt.Errorf("the user has more than %d memories or turns: that is more than a diagnosis looks through", maxDiagnosed)

// diagnosisServer is the DiagnosisService. It answers as the UtilizerService does, but publishes nothing: of what is
// asked for a diagnosis, nothing is learned.
type diagnosisServer struct {
	answers *server
}

// Why implements the RPC.
func (s *diagnosisServer) Why(
	ctx context.Context, req *connect.Request[mnemev1.WhyRequest],
) (*connect.Response[mnemev1.WhyResponse], error) {
	expect, err := expectedOf(req.Msg)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	t, result, err := s.answers.recall(ctx, req.Msg.GetRecall(), true)
	if err != nil {
		return nil, err
	}
	scope := memory.Scope{Tenant: t.ID, User: req.Msg.GetRecall().GetUserId()}
	answer, err := s.answer(ctx, t, scope, result)
	if err != nil {
		return nil, err
	}
	findings, err := s.findings(ctx, scope, expect, req.Msg.GetRecall(), result, answer)
	if errors.Is(err, errTooMuch) {
		return nil, connect.NewError(connect.CodeResourceExhausted, errTooMuch)
	}
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.answers.log, "diagnose", err)
	}
	out := &mnemev1.WhyResponse{
		Stage: mnemev1.Stage(diagnosis.Earliest(findings)), Candidates: candidateViews(result), //nolint:gosec // one of ten
		Answer: &mnemev1.AnswerResponse{Answer: answer.Text, Abstained: answer.Abstained, CitedIds: answer.Cited, Recall: response(result)},
	}
	for _, f := range findings {
		out.Findings = append(out.Findings, findingTo(f))
	}
	return connect.NewResponse(out), nil
}

func (s *diagnosisServer) answer(ctx context.Context, t tenant.Tenant, scope memory.Scope, result Result) (recall.Answer, error) {
	_, generator, err := s.answers.recaller.Policies(t.Policy)
	if err != nil {
		return recall.Answer{}, rpcerror.Logged(ctx, s.answers.log, "choose generator", err)
	}
	answer, err := generator.Answer(ctx, scope, result.Evidence, result.Profile)
	if err != nil {
		return recall.Answer{}, rpcerror.Logged(ctx, s.answers.log, "answer", err)
	}
	return answer, nil
}

// expected is what a request expects, checked.
type expected struct {
	turns []string
	text  string
}

func expectedOf(req *mnemev1.WhyRequest) (expected, error) {
	if req.GetRecall() == nil {
		return expected{}, fault.Terminal("recall", "is missing, want the query")
	}
	if n := len(req.GetExpectTurnIds()); n > maxExpected {
		return expected{}, fault.Terminal("expect_turn_ids", "has %d ids, want at most %d", n, maxExpected)
	}
	e := expected{text: req.GetExpectText()}
	for _, id := range req.GetExpectTurnIds() {
		if err := memory.ValidText("expect_turn_ids", id, memory.MaxIDBytes); err != nil {
			return e, err
		}
		if !slices.Contains(e.turns, id) {
			e.turns = append(e.turns, id)
		}
	}
	if e.text == "" {
		return e, nil
	}
	if err := memory.ValidText("expect_text", e.text, memory.MaxQueryBytes); err != nil {
		return e, err
	}
	if len(text.ContentStems(e.text)) == 0 {
		return e, fault.Terminal("expect_text", "has no word that carries content")
	}
	return e, nil
}

// findings diagnoses what is expected, from the bank as it is after the recall.
func (s *diagnosisServer) findings(
	ctx context.Context, scope memory.Scope, expect expected, req *mnemev1.RecallRequest, result Result, answer recall.Answer,
) ([]diagnosis.Finding, error) {
	if len(expect.turns) == 0 && expect.text == "" {
		return nil, nil
	}
	b := s.answers.recaller.Bank
	memories, err := allMemories(ctx, b, scope)
	if err != nil {
		return nil, err
	}
	run := runOf(req, result, answer)
	run.Memories = memories
	var out []diagnosis.Finding
	if len(expect.turns) > 0 {
		turns, err := turnStates(ctx, b, scope, expect.turns, result.Evidence.Window)
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			out = append(out, diagnosis.Diagnose(run.OfTurn(t)))
		}
	}
	if expect.text != "" {
		kept, err := allTurns(ctx, b, scope)
		if err != nil {
			return nil, err
		}
		out = append(out, diagnosis.Diagnose(run.OfText(expect.text, kept, result.Evidence.Window)))
	}
	return out, nil
}

// runOf is what the query made of the bank.
func runOf(req *mnemev1.RecallRequest, result Result, answer recall.Answer) diagnosis.Recall {
	run := diagnosis.Recall{
		Query: req.GetQuery(), Retrieved: scoredIDs(result.Retrieved), Ranked: scoredIDs(result.Ranked), Shown: ids(result.Profile.Cited),
		Cited: answer.Cited, Core: result.Evidence.Core, Answer: answer.Text, Abstained: answer.Abstained,
	}
	q, err := requestFrom(req)
	run.Past = err == nil && recall.ReadHorizon(q.Query, q.AsOf, result.Evidence.Now).Past
	for _, section := range result.Profile.Sections {
		run.Profile = append(run.Profile, section.Lines...)
	}
	return run
}

// turnStates says what is known of turns beside the bank's entries.
func turnStates(ctx context.Context, b bank.Bank, scope memory.Scope, turnIDs []string, window []memory.Turn) ([]diagnosis.Turn, error) {
	kept, err := b.Turns(ctx, scope, turnIDs)
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	dropped, err := b.Dropped(ctx, scope, turnIDs)
	if err != nil {
		return nil, fmt.Errorf("read dropped turns: %w", err)
	}
	out := make([]diagnosis.Turn, len(turnIDs))
	for i, id := range turnIDs {
		is := func(t memory.Turn) bool { return t.ID == id }
		out[i] = diagnosis.Turn{ID: id, Kept: slices.ContainsFunc(kept, is), Pending: slices.ContainsFunc(window, is)}
		if at := slices.IndexFunc(dropped, func(d memory.Dropped) bool { return d.TurnID == id }); at >= 0 {
			out[i].Dropped = &dropped[at]
		}
	}
	return out, nil
}

// allMemories reads a user's entries of every state. Entries have no index by their turns, and a diagnosis is seldom asked for.
func allMemories(ctx context.Context, b bank.Bank, scope memory.Scope) ([]memory.Memory, error) {
	var out []memory.Memory
	for m, err := range bank.EachMemory(ctx, b, scope, bank.ListOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, err
		}
		if out = append(out, m); len(out) > maxDiagnosed {
			return nil, errTooMuch
		}
	}
	return out, nil
}

// allTurns reads a user's kept turns.
func allTurns(ctx context.Context, b bank.Bank, scope memory.Scope) ([]memory.Turn, error) {
	var out []memory.Turn
	for t, err := range bank.EachTurn(ctx, b, scope, bank.PageOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, err
		}
		if out = append(out, t); len(out) > maxDiagnosed {
			return nil, errTooMuch
		}
	}
	return out, nil
}

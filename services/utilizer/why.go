package utilizer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/diagnosis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

const (
	// maxExpected is the maximum number of expected turns per request; part of the contract in proto/.
	maxExpected = 100
	// maxDiagnosed is the maximum number of entries or turns that a diagnosis reads: entries of the expected turns, or
	// turns in a search for the expected text.
	maxDiagnosed = 5_000
)

// errTooMuch means that the expected memories need more reads than a diagnosis makes.
var errTooMuch = errors.New("the expected turns or text need more reads than a diagnosis allows")

// diagnosisServer is the DiagnosisService. It answers as the UtilizerService does, but publishes nothing: nothing is
// learned from the queries of a diagnosis.
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
	asked := Request{Answered: true, Diagnosed: true, ID: memory.CanonicalID(req.Msg.GetRecallId())}
	t, result, err := s.answers.recall(ctx, req.Msg.GetRecall(), asked)
	if err != nil {
		return nil, err
	}
	scope := memory.Scope{Tenant: t.ID, User: req.Msg.GetRecall().GetUserId()}
	answer, _, err := s.answers.recaller.answer(ctx, t, scope, &result)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.answers.log, "answer", err)
	}
	findings, err := s.findings(ctx, scope, expect, req.Msg.GetRecall(), result, answer)
	if errors.Is(err, errTooMuch) {
		return nil, connect.NewError(connect.CodeResourceExhausted, err)
	}
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.answers.log, "diagnose", err)
	}
	out := &mnemev1.WhyResponse{
		Stage: mnemev1.Stage(diagnosis.Earliest(findings)), Candidates: candidateViews(result), //nolint:gosec // one of ten
		Answer: &mnemev1.AnswerResponse{Answer: answer.Text, Abstained: answer.Abstained, CitedIds: answer.Cited,
			Recall: response(result)},
	}
	if result.Evidence.Core.Version > 0 {
		out.Core = contract.CoreToProto(result.Evidence.Core)
	}
	for _, f := range findings {
		out.Findings = append(out.Findings, findingTo(f))
	}
	return connect.NewResponse(out), nil
}

// expected is the checked expectation of a request.
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
	if id := req.GetRecallId(); id != "" {
		if err := memory.ValidText("recall_id", id, memory.MaxIDBytes); err != nil {
			return expected{}, err
		}
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

// findings diagnoses the expected memories from the bank's state after the recall.
func (s *diagnosisServer) findings(
	ctx context.Context, scope memory.Scope, expect expected, req *mnemev1.RecallRequest, result Result,
	answer recall.Answer,
) ([]diagnosis.Finding, error) {
	if len(expect.turns) == 0 && expect.text == "" {
		return nil, nil
	}
	b := s.answers.recaller.Bank
	run := runOf(req, result, answer)
	var out []diagnosis.Finding
	if len(expect.turns) > 0 {
		turns, err := turnStates(ctx, b, scope, expect.turns, result.Window)
		if err != nil {
			return nil, err
		}
		if run.Memories, err = madeOf(ctx, b, scope, expect.turns); err != nil {
			return nil, err
		}
		for _, t := range turns {
			out = append(out, diagnosis.Diagnose(run.OfTurn(t)))
		}
	}
	if expect.text != "" {
		memories, telling, err := turnsThatTell(ctx, b, scope, expect.text)
		if err != nil {
			return nil, err
		}
		run.Memories = memories
		out = append(out, diagnosis.Diagnose(run.OfText(expect.text, telling, result.Window)))
	}
	return out, nil
}

// runOf converts the result of the query for the diagnosis.
func runOf(req *mnemev1.RecallRequest, result Result, answer recall.Answer) diagnosis.Recall {
	run := diagnosis.Recall{
		Query: req.GetQuery(), Filter: result.Evidence.Filter, Retrieved: scoredIDs(result.Retrieved),
		Ranked: scoredIDs(result.Ranked), Floored: result.Floored, Shown: ids(result.Profile.Cited),
		Cited: answer.Cited, Core: result.Evidence.Core, Answer: answer.Text, Abstained: answer.Abstained,
		Past: result.Evidence.Query.Horizon.Intent == intent.Past,
	}
	for _, section := range result.Profile.Sections {
		run.Profile = append(run.Profile, section.Lines...)
	}
	return run
}

// turnStates returns the known state of turns, except their entries in the bank.
func turnStates(
	ctx context.Context, b bank.Bank, scope memory.Scope, turnIDs []string, window []memory.Turn,
) ([]diagnosis.Turn, error) {
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
		out[i] = diagnosis.Turn{ID: id, Pending: slices.ContainsFunc(window, is)}
		if at := slices.IndexFunc(kept, is); at >= 0 {
			out[i].Kept, out[i].Saliency = true, kept[at].Saliency
		}
		if at := slices.IndexFunc(dropped, func(d memory.Dropped) bool { return d.TurnID == id }); at >= 0 {
			out[i].Dropped = &dropped[at]
		}
	}
	return out, nil
}

// madeOf reads the entries of turns, in every state.
func madeOf(ctx context.Context, b bank.Bank, scope memory.Scope, turnIDs []string) ([]memory.Memory, error) {
	var out []memory.Memory
	for m, err := range bank.EachMemory(ctx, b, scope, bank.ListOptions{Sources: turnIDs, Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, err
		}
		if out = append(out, m); len(out) > maxDiagnosed {
			return nil, fmt.Errorf("%w: the expected turns have more than %d entries; expect fewer of them", errTooMuch,
				maxDiagnosed)
		}
	}
	return out, nil
}

// turnsThatTell reads the entries nearest to a text by its words. It returns the turn with the text: a source of the
// entries, or else the first match among the user's turns, with its entries. It returns no turn if the user never
// said it.
func turnsThatTell(
	ctx context.Context, b bank.Bank, scope memory.Scope, expect string,
) (memories []memory.Memory, telling []memory.Turn, err error) {
	every := append(memory.Recallable(), memory.StatusQuarantined)
	found, err := b.Search(ctx, scope, bank.Query{Text: expect, K: bank.MaxK, Statuses: every})
	if err != nil {
		return nil, nil, fmt.Errorf("search the expected text: %w", err)
	}
	var sources []string
	for _, f := range found {
		memories, sources = append(memories, f.Memory), append(sources, f.Memory.Sources...)
	}
	slices.Sort(sources)
	kept, err := b.Turns(ctx, scope, slices.Compact(sources))
	if err != nil {
		return nil, nil, fmt.Errorf("read turns: %w", err)
	}
	tells := diagnosis.Tells(expect)
	if telling = slices.DeleteFunc(kept, func(t memory.Turn) bool { return !tells(t) }); len(telling) > 0 {
		return memories, telling, nil
	}
	read := 0
	for t, err := range bank.EachTurn(ctx, b, scope, bank.PageOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, nil, err
		}
		if tells(t) {
			made, err := madeOf(ctx, b, scope, []string{t.ID})
			known := func(m memory.Memory) bool {
				return slices.ContainsFunc(memories, func(k memory.Memory) bool { return k.ID == m.ID })
			}
			return append(memories, slices.DeleteFunc(made, known)...), []memory.Turn{t}, err
		}
		if read++; read > maxDiagnosed {
			return nil, nil, fmt.Errorf("%w: neither the nearest memories nor %d of the user's turns contain it; "+
				"name the turn instead, by expect_turn_ids", errTooMuch, maxDiagnosed)
		}
	}
	return memories, nil, nil
}

// candidateViews returns a recall's candidates as seen by the query, in order of retrieval.
func candidateViews(r Result) []*mnemev1.CandidateView {
	shown, place := map[string]bool{}, map[string]int{}
	for _, m := range r.Profile.Cited {
		shown[m.ID] = true
	}
	for i, s := range r.Ranked {
		place[s.Memory.ID] = i + 1
	}
	out := make([]*mnemev1.CandidateView, len(r.Retrieved))
	for i, s := range r.Retrieved {
		v := &mnemev1.CandidateView{
			MemoryId: s.Memory.ID, TurnIds: s.Memory.Sources, Shown: shown[s.Memory.ID], Explored: s.Memory.ID == r.Explored,
			Retrieved: uint32(i + 1), Ranked: uint32(place[s.Memory.ID]), //nolint:gosec // at most 200
		}
		if v.Ranked > 0 {
			v.Score = r.Ranked[v.Ranked-1].Score
		}
		out[i] = v
	}
	return out
}

func findingTo(f diagnosis.Finding) *mnemev1.Finding {
	return &mnemev1.Finding{
		TurnId: f.TurnID, Reason: f.Reason, MemoryIds: f.MemoryIDs,
		Stage:     mnemev1.Stage(f.Stage),                        //nolint:gosec // one of ten
		Retrieved: uint32(f.Retrieved), Ranked: uint32(f.Ranked), //nolint:gosec // at most 200
	}
}

func scoredIDs(scored []bank.Scored) []string {
	return converted(scored, func(s bank.Scored) string { return s.Memory.ID })
}

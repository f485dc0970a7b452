package utilizer_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/diagnosis"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// why calls a fixture with a tenant's key.
func (r *fixture) why(t *testing.T, key string, req *mnemev1.WhyRequest) (*mnemev1.WhyResponse, error) {
	t.Helper()
	o := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			req.Header().Set("Authorization", "Bearer "+key)
			return next(ctx, req)
		}
	}))
	res, err := mnemev1connect.NewDiagnosisServiceClient(r.web.Client(), r.web.URL, o).Why(t.Context(), ask(req))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

// said writes one memory from its own turn.
func said(t *testing.T, b bank.Bank, turnID, content string, status memory.Status) string {
	t.Helper()
	vectors, err := builtin.New().Embed(t.Context(), []string{content})
	if err != nil {
		t.Fatal(err)
	}
	m := memory.Memory{
		ID: memory.DeriveID(ana, []string{turnID}, 0), Kind: memory.KindFact, Content: content, Status: status, Version: 1,
		RecordedAt: now, ValidFrom: now, Sources: []string{turnID}, SessionID: "s1", Vector: vectors[0],
	}
	turn := memory.Turn{ID: turnID, SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: content, Time: now}
	if err := b.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{m}, Turns: []memory.Turn{turn}}); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// exploring gives the last place to the last retrieved candidate, and records the requests.
type exploring struct{ asks *[]utilizer.Ask }

func (e exploring) Rank(ctx context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	*e.asks = append(*e.asks, a)
	out := utilizer.Order{Scores: make([]float64, len(a.Candidates)), Version: "test/1"}
	for i := range min(m, len(a.Candidates)) - 1 {
		out.Places = append(out.Places, i)
	}
	last := len(a.Candidates) - 1
	out.Places, out.Explored = append(out.Places, last), a.Candidates[last].ID
	return out, nil
}

// A recall reports its explored memory. A diagnosis of that recall does so, too: it uses the recall's id, and nothing
// is learned from it.
func TestWhyExplainsTheRecallThatIsAskedAbout(t *testing.T) {
	r := newFixture(t)
	var asks []utilizer.Ask
	r.Ranker = exploring{&asks}
	query := &mnemev1.RecallRequest{UserId: "ana", Query: "Where does Ana live?", Memories: 2}
	told, err := r.as(acmeKey).Recall(t.Context(), ask(query))
	if err != nil || len(told.Msg.GetCited()) != 2 {
		t.Fatalf("got %v, %v", told, err)
	}
	explored := asks[0].Candidates[len(asks[0].Candidates)-1].ID
	for _, c := range told.Msg.GetCited() {
		if c.GetExplored() != (c.GetMemory().GetId() == explored) {
			t.Errorf("%s: explored %t, want that of %s alone", c.GetMemory().GetId(), c.GetExplored(), explored)
		}
	}
	got, err := r.why(t, acmeKey, &mnemev1.WhyRequest{Recall: query, RecallId: told.Msg.GetRecallId()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.GetCandidates() {
		if c.GetExplored() != (c.GetMemoryId() == explored) {
			t.Errorf("%s: explored %t, want that of %s alone", c.GetMemoryId(), c.GetExplored(), explored)
		}
	}
	if len(asks) != 2 || asks[1].RecallID != asks[0].RecallID || asks[0].Untraced || !asks[1].Untraced ||
		len(r.out.msgs) != 0 {
		t.Errorf("asked as %q and then %q, untraced %t and %t; %d reports", asks[0].RecallID, asks[1].RecallID,
			asks[0].Untraced,
			asks[1].Untraced, len(r.out.msgs))
	}
	long := &mnemev1.WhyRequest{Recall: query, RecallId: strings.Repeat("r", 129)}
	if _, err := r.why(t, acmeKey, long); connect.CodeOf(err) != connect.CodeInvalidArgument ||
		!strings.Contains(err.Error(), "recall_id") {
		t.Errorf("an id that is too long: %v", err)
	}
}

// turning reverses the order of retrieval.
type turning struct{}

func (turning) Rank(_ context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	out := utilizer.Order{Scores: make([]float64, len(a.Candidates))}
	for i := range a.Candidates {
		out.Scores[i] = float64(1 + i)
		out.Places = append(out.Places, len(a.Candidates)-1-i)
	}
	out.Places = out.Places[:min(m, len(out.Places))]
	return out, nil
}

// newLife is a fixture with one lost memory at every stage of the bank.
func newLife(t *testing.T) *fixture {
	t.Helper()
	r := newFixture(t)
	said(t, r.Bank, "van", "Ana drives a red van.", memory.StatusActive)
	said(t, r.Bank, "blue", "Ana drives a blue lorry.", memory.StatusActive)
	said(t, r.Bank, "flute", "Ana studies the flute.", memory.StatusSuperseded)
	silent := memory.Turn{ID: "silent", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: "My kettle broke",
		Time:     now,
		Saliency: memory.SaliencyDecision{Score: 0.125, Threshold: 0.5, PolicyVersion: "filter/3", Mode: memory.SaliencyMark}}
	if err := r.Bank.Write(t.Context(), ana, memory.Write{Turns: []memory.Turn{silent}}); err != nil {
		t.Fatal(err)
	}
	d := memory.Dropped{TurnID: "dropped", SessionID: "s1", Time: now, Score: 0.125, Threshold: 0.5,
		PolicyVersion: "filter/3"}
	if err := r.Bank.WriteDropped(t.Context(), ana, []memory.Dropped{d}); err != nil {
		t.Fatal(err)
	}
	return r
}

// wondering returns a query that keeps its memories in order of retrieval.
func wondering(text string) *mnemev1.RecallRequest {
	return &mnemev1.RecallRequest{UserId: "ana", Query: text, RetrievalOrder: true}
}

func TestWhyNamesTheStageOfATurn(t *testing.T) {
	r := newLife(t)
	drives := wondering("What does Ana drive: the red van?")
	cutting, fetching := wondering("What does Ana drive: the red van?"), wondering("What does Ana drive: the red van?")
	cutting.Candidates, cutting.Memories, fetching.Candidates = 3, 1, 1
	for name, c := range map[string]struct {
		recall *mnemev1.RecallRequest
		turn   string
		want   mnemev1.Stage
		reason string
	}{
		"never said":    {drives, "nothing", mnemev1.Stage_STAGE_NOT_INGESTED, "no turn"},
		"in the window": {drives, "t9", mnemev1.Stage_STAGE_NOT_INGESTED, "waits in working memory"},
		"dropped": {drives, "dropped", mnemev1.Stage_STAGE_DROPPED_BY_FILTER,
			"filter/3 scored the turn 0.125, below its threshold of 0.500"},
		"nothing made of it": {drives, "silent", mnemev1.Stage_STAGE_NOT_EXTRACTED, "which only marks, scored it 0.125"},
		"superseded":         {drives, "flute", mnemev1.Stage_STAGE_LOST_IN_UPDATE, "1 superseded, 0 retracted"},
		"not retrieved":      {fetching, "t1", mnemev1.Stage_STAGE_NOT_RETRIEVED, "among the 1 candidates"},
		"cut": {cutting, "blue", mnemev1.Stage_STAGE_CUT_BY_RERANKER,
			"not among the 1 that were ranked first"},
		"answered": {drives, "van", mnemev1.Stage_STAGE_ANSWERED, "the answer uses it"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := r.why(t, acmeKey, &mnemev1.WhyRequest{Recall: c.recall, ExpectTurnIds: []string{c.turn, c.turn}})
			if err != nil || len(got.GetFindings()) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			f := got.GetFindings()[0]
			if got.GetStage() != c.want || f.GetStage() != c.want || f.GetTurnId() != c.turn ||
				!strings.Contains(f.GetReason(), c.reason) {
				t.Errorf("got %v, want %v: %q", got.GetFindings(), c.want, c.reason)
			}
		})
	}
	if len(r.out.msgs) != 0 {
		t.Errorf("a diagnosis published %v", r.out.msgs)
	}
}

func TestWhyBlamesTheProfileAndTheGenerator(t *testing.T) {
	r := newLife(t)
	long := said(t, r.Bank, "long", "Ana drives "+strings.Repeat("slowly and carefully ", 12)+"on Sundays.",
		memory.StatusActive)
	few := wondering("What does Ana drive on Sundays, slowly and carefully?")
	few.WordBudget = 20
	got, err := r.why(t, acmeKey, &mnemev1.WhyRequest{Recall: few, ExpectTurnIds: []string{"long"}})
	if err != nil || got.GetStage() != mnemev1.Stage_STAGE_LEFT_OUT_OF_PROFILE ||
		!slices.Equal(got.GetFindings()[0].GetMemoryIds(), []string{long}) {
		t.Errorf("of a memory longer than the profile: %v, %v", got.GetFindings(), err)
	}
	r.Policies = generating(r.Policies, recall.Answer{Text: "I cannot say. [NO_CITE]", Abstained: true})
	got, err = r.why(t, acmeKey, &mnemev1.WhyRequest{Recall: wondering("What does Ana drive: the red van?"),
		ExpectTurnIds: []string{"van"}})
	if err != nil || got.GetStage() != mnemev1.Stage_STAGE_GENERATOR || !got.GetAnswer().GetAbstained() {
		t.Errorf("of an answer that abstains: %v, %v", got.GetFindings(), err)
	}
}

// given always returns the same answer.
type given struct{ answer recall.Answer }

func (g given) Answer(context.Context, memory.Scope, recall.Evidence, recall.Profile) (recall.Answer, error) {
	return g.answer, nil
}

func generating(next utilizer.Policies, answer recall.Answer) utilizer.Policies {
	return func(p tenant.Policy) (recall.Profiler, recall.Generator, error) {
		profiler, _, err := next(p)
		return profiler, given{answer}, err
	}
}

func TestWhyNamesTheStageOfAText(t *testing.T) {
	r := newLife(t)
	for name, c := range map[string]struct {
		text string
		want mnemev1.Stage
		turn string
	}{
		"never said":       {"Ana keeps bees", mnemev1.Stage_STAGE_NOT_INGESTED, ""},
		"not in one place": {"kettle van", mnemev1.Stage_STAGE_NOT_INGESTED, ""},
		"kept only":        {"kettle", mnemev1.Stage_STAGE_NOT_EXTRACTED, "silent"},
		"superseded":       {"the flute", mnemev1.Stage_STAGE_LOST_IN_UPDATE, "flute"},
		"answered":         {"Ana drives a red van", mnemev1.Stage_STAGE_ANSWERED, "van"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := r.why(t, acmeKey, &mnemev1.WhyRequest{Recall: wondering("What does Ana drive: the red van?"),
				ExpectText: c.text})
			if err != nil || len(got.GetFindings()) != 1 || got.GetFindings()[0].GetStage() != c.want ||
				got.GetFindings()[0].GetTurnId() != c.turn {
				t.Errorf("got %v, %v, want %v in %q", got.GetFindings(), err, c.want, c.turn)
			}
			if reason := got.GetFindings()[0].GetReason(); c.want == mnemev1.Stage_STAGE_NOT_INGESTED &&
				!strings.Contains(reason, "The filter may have dropped a turn that tells it. Texts of dropped turns are not kept") {
				t.Errorf("the reason %q does not say that the filter may have dropped the text", reason)
			}
		})
	}
}

func TestWhyShowsTheCandidatesAsTheQuerySawThem(t *testing.T) {
	r := newLife(t)
	r.Ranker = turning{}
	q := wondering("What does Ana drive?")
	q.Candidates, q.Memories, q.RetrievalOrder = 3, 2, false
	got, err := r.why(t, acmeKey, &mnemev1.WhyRequest{Recall: q})
	if err != nil || got.GetStage() != mnemev1.Stage_STAGE_UNSPECIFIED || len(got.GetFindings()) != 0 {
		t.Fatalf("got %v, %v", got, err)
	}
	var ranked []uint32
	for i, c := range got.GetCandidates() {
		if c.GetRetrieved() != uint32(i+1) || c.GetMemoryId() == "" || len(c.GetTurnIds()) != 1 {
			t.Errorf("candidate %d is %v", i, c)
		}
		cited := slices.ContainsFunc(got.GetAnswer().GetRecall().GetCited(),
			func(m *mnemev1.CitedMemory) bool { return m.GetMemory().GetId() == c.GetMemoryId() })
		if c.GetShown() != cited || (c.GetScore() > 0) != (c.GetRanked() > 0) {
			t.Errorf("candidate %d is %v; cited: %t", i, c, cited)
		}
		ranked = append(ranked, c.GetRanked())
	}
	if !slices.Equal(ranked, []uint32{0, 2, 1}) {
		t.Errorf("ranked %v, want the reverse without the last", ranked)
	}
	if got.GetAnswer().GetAnswer() == "" || got.GetAnswer().GetRecall().GetRecallId() == "" {
		t.Errorf("the answer is %v", got.GetAnswer())
	}
}

func TestWhyOfSeveralIsTheEarliest(t *testing.T) {
	r := newLife(t)
	got, err := r.why(t, acmeKey, &mnemev1.WhyRequest{
		Recall: wondering("What does Ana drive: the red van?"), ExpectTurnIds: []string{"van", "dropped", "silent"},
		ExpectText: "red van",
	})
	if err != nil || got.GetStage() != mnemev1.Stage_STAGE_DROPPED_BY_FILTER || len(got.GetFindings()) != 4 {
		t.Fatalf("got %v, %v", got, err)
	}
	for _, f := range got.GetFindings() {
		for _, word := range []string{"van", "kettle", "drive"} {
			if strings.Contains(f.GetReason(), word) {
				t.Errorf("the reason %q tells what was said", f.GetReason())
			}
		}
	}
}

func TestWhyIsOfTheTenantOfTheCredential(t *testing.T) {
	r := newLife(t)
	got, err := r.why(t, betaKey, &mnemev1.WhyRequest{Recall: wondering("What does Ana drive?"),
		ExpectTurnIds: []string{"dropped", "van"},
		ExpectText:    "red van"})
	if err != nil || len(got.GetCandidates()) != 0 {
		t.Fatalf("got %v, %v", got, err)
	}
	for _, f := range got.GetFindings() {
		if f.GetStage() != mnemev1.Stage_STAGE_NOT_INGESTED || len(f.GetMemoryIds()) != 0 {
			t.Errorf("another tenant is told %v", f)
		}
	}
	_, err = r.why(t, "", &mnemev1.WhyRequest{Recall: wondering("What?")})
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("without a credential: %v", err)
	}
}

func TestWhyRefusesWhatCannotBeMeant(t *testing.T) {
	r := newFixture(t)
	for field, req := range map[string]*mnemev1.WhyRequest{
		"recall":          {},
		"query":           {Recall: wondering("")},
		"expect_turn_ids": {Recall: wondering("What?"), ExpectTurnIds: make([]string, 101)},
		"expect_text":     {Recall: wondering("What?"), ExpectText: strings.Repeat("x", memory.MaxQueryBytes+1)},
	} {
		if _, err := r.why(t, acmeKey, req); connect.CodeOf(err) != connect.CodeInvalidArgument ||
			!strings.Contains(err.Error(), ": "+field+": ") {
			t.Errorf("got %v, want an invalid argument that names %s", err, field)
		}
	}
	for _, req := range []*mnemev1.WhyRequest{{ExpectTurnIds: []string{""}}, {ExpectText: "of the"}} {
		req.Recall = wondering("What?")
		if _, err := r.why(t, acmeKey, req); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: got %v, want an invalid argument", req, err)
		}
	}
}

// Banks with one failing read of a diagnosis.
type (
	memoriesUnavailable struct{ bank.Bank }
	unavailableTurns    struct{ bank.Bank }
	droppedUnavailable  struct{ bank.Bank }
	allTurnsOff         struct{ bank.Bank }
	endless             struct{ bank.Bank }
)

func (memoriesUnavailable) List(context.Context, memory.Scope, bank.ListOptions) (bank.Page, error) {
	return bank.Page{}, errUnavailable
}

func (unavailableTurns) Turns(context.Context, memory.Scope, []string) ([]memory.Turn, error) {
	return nil, errUnavailable
}

func (droppedUnavailable) Dropped(context.Context, memory.Scope, []string) ([]memory.Dropped, error) {
	return nil, errUnavailable
}

func (allTurnsOff) ListTurns(context.Context, memory.Scope, bank.PageOptions) (bank.TurnPage, error) {
	return bank.TurnPage{}, errUnavailable
}

func (endless) List(_ context.Context, _ memory.Scope, o bank.ListOptions) (bank.Page, error) {
	return bank.Page{Memories: make([]memory.Memory, o.Limit), Next: "more"}, nil
}

// listing keeps the listed entries of a bank.
type listing struct {
	bank.Bank
	mu   sync.Mutex
	read []memory.Memory
}

func (l *listing) List(ctx context.Context, scope memory.Scope, o bank.ListOptions) (bank.Page, error) {
	page, err := l.Bank.List(ctx, scope, o)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = append(l.read, page.Memories...)
	return page, err
}

func TestWhyReadsOnlyTheEntriesOfTheExpectedTurns(t *testing.T) {
	for name, c := range map[string]struct {
		req  *mnemev1.WhyRequest
		want []string
	}{
		"of turns": {&mnemev1.WhyRequest{ExpectTurnIds: []string{"van", "flute", "silent"}},
			[]string{"flute", "van"}},
		"of a turn with none":      {&mnemev1.WhyRequest{ExpectTurnIds: []string{"silent"}}, nil},
		"of the turn with a text":  {&mnemev1.WhyRequest{ExpectText: "My kettle broke"}, nil},
		"of turns that are no one": {&mnemev1.WhyRequest{ExpectTurnIds: []string{"nothing"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLife(t)
			b := &listing{Bank: r.Bank}
			r.Bank, c.req.Recall = b, wondering("What does Ana drive?")
			if _, err := r.why(t, acmeKey, c.req); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range b.read {
				got = append(got, m.Sources...)
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("entries of %q were read, want of %q", got, c.want)
			}
		})
	}
}

// plenty is a bank that lists a given number of irrelevant entries or turns.
type plenty struct {
	bank.Bank
	entries, turns int
	read           int
}

// page returns the number of items on the page of a token, and the token of the next page.
func (p *plenty) page(all, limit int, token string) (n int, next string) {
	from, _ := strconv.Atoi(token) // the first has none
	n = min(limit, all-from)
	if p.read += n; from+n < all {
		next = strconv.Itoa(from + n)
	}
	return n, next
}

func (p *plenty) List(_ context.Context, _ memory.Scope, o bank.ListOptions) (bank.Page, error) {
	if o.Statuses != nil { // entries that no longer hold, which the recall requests: none
		return bank.Page{}, nil
	}
	n, next := p.page(p.entries, o.Limit, o.Token)
	return bank.Page{Memories: make([]memory.Memory, n), Next: next}, nil
}

func (p *plenty) ListTurns(_ context.Context, _ memory.Scope, o bank.PageOptions) (bank.TurnPage, error) {
	n, next := p.page(p.turns, o.Limit, o.Token)
	return bank.TurnPage{Turns: make([]memory.Turn, n), Next: next}, nil
}

func TestWhyReadsNoMoreThanItsBound(t *testing.T) {
	const bound = 5000
	turns, text := &mnemev1.WhyRequest{ExpectTurnIds: []string{"van"}}, &mnemev1.WhyRequest{ExpectText: "zeppelin"}
	for name, c := range map[string]struct {
		req            *mnemev1.WhyRequest
		entries, turns int
		want           string
	}{
		"as many entries":    {turns, bound, 0, ""},
		"one entry too many": {turns, bound + 1, 0, "expect fewer"},
		"far too many":       {turns, 10 * bound, 0, "expect fewer"},
		"as many turns":      {text, 0, bound, ""},
		"one turn too many":  {text, 0, bound + 1, "name the turn instead"},
		"far too many turns": {text, 0, 10 * bound, "name the turn instead"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLife(t)
			b := &plenty{Bank: r.Bank, entries: c.entries, turns: c.turns}
			r.Bank, c.req.Recall = b, wondering("What does Ana drive?")
			_, err := r.why(t, acmeKey, c.req)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v", err)
			case c.want != "" && (connect.CodeOf(err) != connect.CodeResourceExhausted ||
				!strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want that the resource is exhausted and %q", err, c.want)
			case b.read > bound+bank.MaxLimit:
				t.Errorf("%d were read", b.read)
			}
		})
	}
}

type unavailableGenerator struct{}

func (unavailableGenerator) Answer(
	context.Context, memory.Scope, recall.Evidence, recall.Profile,
) (recall.Answer, error) {
	return recall.Answer{}, errUnavailable
}

func TestWhyFailsWithWhatItNeeds(t *testing.T) {
	full := &mnemev1.WhyRequest{Recall: wondering("What does Ana drive?"), ExpectTurnIds: []string{"van"},
		ExpectText: "zeppelin"}
	for name, c := range map[string]struct {
		change func(*utilizer.Recaller)
		want   connect.Code
	}{
		"the list":     {func(r *utilizer.Recaller) { r.Bank = memoriesUnavailable{r.Bank} }, connect.CodeUnavailable},
		"the turns":    {func(r *utilizer.Recaller) { r.Bank = unavailableTurns{r.Bank} }, connect.CodeUnavailable},
		"all turns":    {func(r *utilizer.Recaller) { r.Bank = allTurnsOff{r.Bank} }, connect.CodeUnavailable},
		"the dropped":  {func(r *utilizer.Recaller) { r.Bank = droppedUnavailable{r.Bank} }, connect.CodeUnavailable},
		"the search":   {func(r *utilizer.Recaller) { without(t, r) }, connect.CodeUnavailable},
		"too much":     {func(r *utilizer.Recaller) { r.Bank = endless{r.Bank} }, connect.CodeResourceExhausted},
		"the answerer": {func(r *utilizer.Recaller) { r.Policies = noGenerator(r.Policies) }, connect.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLife(t)
			c.change(r.Recaller)
			if _, err := r.why(t, acmeKey, full); connect.CodeOf(err) != c.want || strings.Contains(err.Error(), "10.1.2.3") {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if c.want == connect.CodeUnavailable && !strings.Contains(r.log.String(), "10.1.2.3") {
				t.Errorf("the operator is not told: %s", r.log)
			}
		})
	}
}

func noGenerator(next utilizer.Policies) utilizer.Policies {
	return func(p tenant.Policy) (recall.Profiler, recall.Generator, error) {
		profiler, _, err := next(p)
		return profiler, unavailableGenerator{}, err
	}
}

// The package's stages and the contract's stages have the same numbers.
func TestStagesAreThoseOfTheContract(t *testing.T) {
	want := []string{
		"NOT_INGESTED", "DROPPED_BY_FILTER", "NOT_EXTRACTED", "LOST_IN_UPDATE", "NOT_RETRIEVED", "CUT_BY_RERANKER",
		"LEFT_OUT_OF_PROFILE",
		"GENERATOR", "ANSWERED",
	}
	for i, s := range diagnosis.Stages() {
		if got := mnemev1.Stage(s).String(); got != "STAGE_"+want[i] { //nolint:gosec // one of ten
			t.Errorf("%s is %s in the contract", s, got)
		}
	}
	if len(want) != len(diagnosis.Stages()) || len(mnemev1.Stage_name) != len(want)+1 {
		t.Errorf("%d stages, %d in the contract", len(diagnosis.Stages()), len(mnemev1.Stage_name)-1)
	}
}

package recall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/recall"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/store/transfer"
)

var began = time.Date(2024, 3, 4, 9, 0, 0, 0, time.UTC)

const talkFile = `[{"sample_id":"iris","conversation":{"speaker_a":"Iris","speaker_b":"Bo",
	"session_1_date_time":"1:00 pm on 4 March, 2024","session_1":[
		{"speaker":"Iris","dia_id":"D1:1","text":"I bought a green tandem."},{"speaker":"Bo","dia_id":"D1:2","text":"How nice!"}],
	"session_2_date_time":"1:00 pm on 4 April, 2024","session_2":[{"speaker":"Iris","dia_id":"D2:1","text":"I sold it to Ada."}]},
	"qa":[
		{"question":"What did Iris buy?","answer":"green tandem","evidence":["D1:1"],"category":4},
		{"question":"Which tandem was sold?","answer":"the green one that Iris bought in March","evidence":["D1:1","D2:1"],"category":1},
		{"question":"Who bought it from Iris?","answer":"Ada","evidence":["D2:1"],"category":4},
		{"question":"What did Bo buy?","adversarial_answer":"green tandem","evidence":["D1:1"],"category":5}]}]`

// scripted is a Mneme with scripted answers.
type scripted struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	mnemev1connect.UnimplementedMemoryServiceHandler
	mnemev1connect.UnimplementedUserDataServiceHandler
	mnemev1connect.UnimplementedDiagnosisServiceHandler
	bank     *bankinmem.Bank
	memories map[string]memory.Memory
	// order holds the returned memories by query. found holds the diagnoses of the evidence. abstains holds whether
	// the service abstains.
	order    map[string][]string
	found    map[string][]mnemev1.Stage
	abstains map[string]bool

	mu        sync.Mutex
	published map[string]bool
	asked     []*mnemev1.RecallRequest
	// unindexed means that no index is ever ready. The bank's search then returns the reverse of order.
	unindexed bool
}

func (s *scripted) Recall(
	_ context.Context, req *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	s.mu.Lock()
	s.asked = append(s.asked, req.Msg)
	s.mu.Unlock()
	res := &mnemev1.RecallResponse{}
	order := slices.Clone(s.order[req.Msg.GetQuery()])
	if req.Msg.GetRetrievalOrder() || s.unindexed {
		slices.Reverse(order)
	}
	res.Searched = s.unindexed
	for i, id := range order {
		// a small budget has room for one memory
		if i >= int(req.Msg.GetMemories()) || (i > 0 && req.Msg.GetWordBudget() < 1000) {
			break
		}
		index := uint32(i + 1) //nolint:gosec // small
		res.Cited = append(res.Cited, &mnemev1.CitedMemory{
			Index: index, Memory: contract.MemoryToProto(s.memories[id]),
		})
	}
	return connect.NewResponse(res), nil
}

func (s *scripted) Why(
	_ context.Context, req *connect.Request[mnemev1.WhyRequest],
) (*connect.Response[mnemev1.WhyResponse], error) {
	query := req.Msg.GetRecall().GetQuery()
	res := &mnemev1.WhyResponse{Answer: &mnemev1.AnswerResponse{
		Abstained: s.abstains[query], Answer: "A green tandem. [1]",
		Recall: &mnemev1.RecallResponse{Degraded: []string{"window_unavailable"}},
	}}
	for i, id := range req.Msg.GetExpectTurnIds() {
		res.Findings = append(res.Findings, &mnemev1.Finding{TurnId: id, Stage: s.found[query][i]})
	}
	return connect.NewResponse(res), nil
}

func (s *scripted) GetSession(
	_ context.Context, req *connect.Request[mnemev1.GetSessionRequest],
) (*connect.Response[mnemev1.GetSessionResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := mnemev1.FormationState_FORMATION_STATE_PENDING
	if s.published[req.Msg.GetSessionId()] {
		state = mnemev1.FormationState_FORMATION_STATE_FORMED
	}
	return connect.NewResponse(&mnemev1.GetSessionResponse{State: state}), nil
}

func (s *scripted) ExportUser(
	ctx context.Context, req *connect.Request[mnemev1.ExportUserRequest],
	out *connect.ServerStream[mnemev1.ExportUserResponse],
) error {
	var all bytes.Buffer
	if err := transfer.Export(ctx, s.bank, memory.Scope{Tenant: "acme", User: req.Msg.GetUserId()}, "none", 2,
		&all); err != nil {
		return err
	}
	return out.Send(&mnemev1.ExportUserResponse{Data: all.Bytes()})
}

// The memories of a script.
const (
	bought  = "00000000-0000-5000-8000-000000000001"
	weather = "00000000-0000-5000-8000-000000000002"
)

// script is a bank with one memory per turn of Iris, and one irrelevant memory.
func script(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{
		bank: bankinmem.New(2), memories: map[string]memory.Memory{}, published: map[string]bool{"session_2": true},
		order: map[string][]string{
			"What did Iris buy?": {bought, weather}, "Which tandem was sold?": {weather, bought}, "What did Bo buy?": {bought},
		},
		found: map[string][]mnemev1.Stage{
			"What did Iris buy?":       {mnemev1.Stage_STAGE_ANSWERED},
			"Which tandem was sold?":   {mnemev1.Stage_STAGE_GENERATOR, mnemev1.Stage_STAGE_DROPPED_BY_FILTER},
			"Who bought it from Iris?": {mnemev1.Stage_STAGE_DROPPED_BY_FILTER},
		},
		abstains: map[string]bool{"What did Bo buy?": true, "Who bought it from Iris?": true},
	}
	for id, content := range map[string]string{bought: "Iris bought a green tandem.", weather: "It rains in Bergen."} {
		m := memory.Memory{
			ID: id, Kind: memory.KindFact, Content: content, Status: memory.StatusActive, Version: 1, RecordedAt: began,
			ValidFrom: began,
			Vector:    memory.Vector{1, 0}, SessionID: "session_1",
			Sources: map[string][]string{bought: {"D1:1"}, weather: {"D1:2"}}[id],
		}
		s.memories[id] = m
		if err := s.bank.Write(t.Context(), memory.Scope{Tenant: "acme", User: "iris"},
			memory.Write{Put: []memory.Memory{m}}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// options returns options that measure a script on a file.
func (s *scripted) options(t *testing.T, file string) recall.Options {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(s))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(s))
	mux.Handle(mnemev1connect.NewUserDataServiceHandler(s))
	mux.Handle(mnemev1connect.NewDiagnosisServiceHandler(s))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "talk.json")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c := server.Client()
	return recall.Options{
		Path: path, Tenant: "acme", Service: recall.Service{
			Utilizer: mnemev1connect.NewUtilizerServiceClient(
				c,
				server.URL,
			), Memories: mnemev1connect.NewMemoryServiceClient(c, server.URL),
			UserData: mnemev1connect.NewUserDataServiceClient(
				c,
				server.URL,
			), Diagnosis: mnemev1connect.NewDiagnosisServiceClient(c, server.URL),
		},
		Publish: func(_ context.Context, session dataset.Session) (recall.Published, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.published[session.ID] = true
			return recall.Published{Refused: []string{"turn D1:2: too long"}, Ends: true}, nil
		},
		Bare:          func(context.Context, string, string, int) (time.Duration, error) { return time.Millisecond, nil },
		LatencySample: 3,
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestRecallOfAScriptedService(t *testing.T) {
	r, err := recall.Evaluate(t.Context(), script(t).options(t, talkFile))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ got, want float64 }{
		"recall@5 of (1, 1/2, 0)":           {r.RecallAt["5"], 0.5},
		"recall in 500 words of (1, 0, 0)":  {r.RecallAtWords["500"], 1.0 / 3},
		"recall in 1000 words":              {r.RecallAtWords["1000"], 0.5},
		"in a profile, of (1, 0, 0)":        {r.Profile, 1.0 / 3},
		"containment of (yes, no)":          {r.Containment, 0.5},
		"abstention":                        {r.Abstention, 1},
		"false abstention, one of three":    {r.FalseAbstention, 1.0 / 3},
		"answered, the first":               {r.Cascade["answered"], 1.0 / 3},
		"generator, half of the second":     {r.Cascade["generator"], 1.0 / 6},
		"dropped, the other half and third": {r.Cascade["dropped_by_filter"], 0.5},
		"memory error":                      {r.Errors.Memory, 0.5},
		"single-hop recall@5 of (1, 0)":     {r.Categories["single-hop"].RecallAt["5"], 0.5},
		"multi-hop cascade, half":           {r.Categories["multi-hop"].Cascade["generator"], 0.5},
		"without the reranker at 5":         {r.Baselines[recall.BaselineRetrieval].RecallAt["5"], 0.5},
		"newest first, everything":          {r.Baselines[recall.BaselineNewest].RecallAt["5"], 1},
		"words over turns (1, 1, 1)":        {r.Baselines[recall.BaselineStemmed].RecallAt["5"], 1},
		"likeness over turns (1, 1, 1)":     {r.Baselines[recall.BaselineSoft+" over turns"].RecallAt["5"], 1},
		"preferences over turns":            {r.Baselines[recall.BaselinePreferences+" over turns"].RecallAt["5"], 1},
		"served without an index":           {r.Searched, 0},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	c := r.Counts
	if c.Questions != 4 || r.WithEvidence != 3 || r.ShortAnswers != 2 || r.Unanswerable != 1 || c.Memories != 2 ||
		c.MemoriesPerUser["iris"] != 2 {
		t.Errorf("counts %+v of %+v", c, r.Figures)
	}
	if c.Refused != 1 || c.Degraded["window_unavailable"] != 4 || r.Formation.N != 1 || r.Latency.N != 3 ||
		r.Latency.Bare.P50 != 1 ||
		r.Resampled != "questions" {
		t.Errorf("refused %d, degraded %v, formed %+v, latency %+v", c.Refused, c.Degraded, r.Formation, r.Latency)
	}
	checkOutput(t, r)
}

// checkOutput checks the fields that scripts read.
func checkOutput(t *testing.T, r recall.Report) {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		RecallAt    map[string]float64 `json:"recall_at"`
		Words       map[string]float64 `json:"recall_at_words"`
		Containment *float64           `json:"containment_at_10"`
		Cascade     map[string]float64
		Latency     struct{ P50, P99 *float64 } `json:"latency_ms"`
		Category    map[string]json.RawMessage
		Intervals   map[string][2]float64
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.RecallAt) != 3 || len(out.Words) != 3 || out.Containment == nil || len(out.Cascade) != 9 ||
		out.Latency.P50 == nil ||
		len(out.Category) != 3 {
		t.Errorf("json %s", raw)
	}
	if i := out.Intervals["recall_at.10"]; !(i[0] <= 0.5 && 0.5 <= i[1]) {
		t.Errorf("interval %v", i)
	}
	var table bytes.Buffer
	if err := r.Render(&table); err != nil || !strings.Contains(table.String(), "recall@10") ||
		!strings.Contains(table.String(), "50.0 %") {
		t.Errorf("table %s, %v", table.String(), err)
	}
}

// beside is a variant with a separate script. stopped counts its stops.
func (s *scripted) beside(t *testing.T, name string, stopped *int) recall.Variant {
	t.Helper()
	return recall.Variant{Name: name, Candidates: 30, Swept: true, Open: func(context.Context) (
		mnemev1connect.UtilizerServiceClient, func(context.Context) error, error,
	) {
		return s.options(t, talkFile).Service.Utilizer, func(context.Context) error { *stopped++; return nil }, nil
	}}
}

func TestVariantsAreMeasuredOnTheSameMemories(t *testing.T) {
	cold, stopped := script(t), 0
	cold.unindexed = true
	cold.order["What did Iris buy?"] = []string{bought, weather, weather, weather, weather, weather}
	o := script(t).options(t, talkFile)
	o.LatencySample, o.Variants, o.Sweep = -1, []recall.Variant{cold.beside(t, "cold", &stopped)}, "as it is"
	r, err := recall.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Variants) != 1 || stopped != 1 {
		t.Fatalf("%d variants, stopped %d times", len(r.Variants), stopped)
	}
	v := r.Variants[0]
	// The evidence of the first question has rank six. Half the evidence of the second has rank one.
	if v.Name != "cold" || v.Searched != 1 || r.Searched != 0 || !near(v.RecallAt["5"], 0.5/3) ||
		!near(v.RecallAt["10"], 0.5) ||
		!near(v.RecallAtWords["1000"], 0.5) || !near(v.Profile, 0.5/3) || v.WithEvidence != 3 {
		t.Errorf("cold: %+v", v)
	}
	if len(cold.asked) != 3*(5+4) {
		t.Errorf("the variant was asked %d times, want 5 of each question with evidence and 4 for the sweep", len(cold.asked))
	}
	for _, candidates := range []uint32{20, 30, 50, 100, 200} {
		if !slices.ContainsFunc(cold.asked, func(req *mnemev1.RecallRequest) bool {
			return req.GetCandidates() == candidates
		}) {
			t.Errorf("it was never asked with %d candidates", candidates)
		}
	}
	if len(r.Sweep) != 8 || r.Sweep[0].Weights != "as it is" || r.Sweep[0].Candidates != 20 ||
		!near(r.Sweep[0].RecallAt["5"], 0.5) ||
		r.Sweep[7].Weights != "cold" || r.Sweep[7].Candidates != 200 || !near(r.Sweep[7].RecallAt["5"], 0.5/3) {
		t.Errorf("swept %+v", r.Sweep)
	}
	var table bytes.Buffer
	if err := r.Render(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cold", "100.0 %", "sweep", "as it is", recall.BaselineStemmed, recall.BaselineSoft} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
}

// In conversations with an assistant, one baseline searches the assistant's turns and the others do not.
func TestBaselinesOfConversationsWithAnAssistant(t *testing.T) {
	file := `[{"sample_id":"iris","conversation":{"speaker_a":"User","speaker_b":"Assistant","session_1_date_time":"1:00 pm on 4 March, 2024",
		"session_1":[{"speaker":"User","role":"user","dia_id":"D1:1","text":"I never ride a tandem."},
			{"speaker":"Assistant","role":"assistant","dia_id":"D1:2","text":"A tandem tandem."}]},
		"qa":[{"question":"Which tandem?","answer":"none","evidence":["D1:2"],"category":3}],
		"observation":{"session_1_observation":{"User":[["The assistant spoke of a tandem.","D1:2"]]}}}]`
	s := script(t)
	s.found["Which tandem?"] = []mnemev1.Stage{mnemev1.Stage_STAGE_ANSWERED}
	o := s.options(t, file)
	o.LatencySample = -1
	r, err := recall.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		recall.BaselineStemmed: 1, recall.BaselineUser: 0, recall.BaselineSoft + " over user turns": 0,
		recall.BaselinePreferences + " over user turns": 0, recall.BaselineObservations: 1,
	} {
		if f, ok := r.Baselines[name]; !ok || !near(f.RecallAt["5"], want) {
			t.Errorf("%s: %v of %t, want %v", name, f.RecallAt, ok, want)
		}
	}
	if _, ok := r.Baselines[recall.BaselineSoft+" over turns"]; ok {
		t.Error("the assistant's turns are searched by word vectors")
	}
}

func TestSeveralFilesAreMeasuredOnOneService(t *testing.T) {
	s := script(t)
	o := s.options(t, talkFile)
	o.LatencySample = -1
	other := s.options(t, strings.Replace(talkFile, `"sample_id":"iris"`, `"sample_id":"bo"`, 1)).Path
	if _, err := recall.EvaluateAll(t.Context(), []string{o.Path, o.Path}, o); !errors.Is(err, dataset.ErrFormat) ||
		!strings.Contains(err.Error(), "iris") || len(s.asked) > 0 {
		t.Errorf("a user of two files: %v, after %d recalls", err, len(s.asked))
	}
	reports, err := recall.EvaluateAll(t.Context(), []string{o.Path, other}, o)
	if err != nil || len(reports) != 2 || reports[1].File != other || reports[0].Counts.MemoriesPerUser["iris"] != 2 ||
		reports[1].Counts.Users != 1 {
		t.Fatalf("%+v, %v", reports, err)
	}
	var table bytes.Buffer
	if err := recall.Summarise(reports, &table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"recall@10", "50.0 % (0.0..100.0)", "multi-hop", "memory error", "containment"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, table.String())
		}
	}
}

func TestRecallIsAskedAsToldTo(t *testing.T) {
	s := script(t)
	o := s.options(t, talkFile)
	o.Candidates, o.Memories, o.LatencySample = 7, 3, -1
	r, err := recall.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Latency != nil || len(s.asked) != 33 {
		t.Errorf("%d recalls, times %+v; want 8 of 4 questions and one before them, and no times", len(s.asked), r.Latency)
	}
	for _, req := range s.asked {
		if req.GetCandidates() != 7 || req.GetMemories() > 7 {
			t.Errorf("asked for %d of %d", req.GetMemories(), req.GetCandidates())
		}
	}
}

func TestRecallNeedsQuestionsAndFormedSessions(t *testing.T) {
	s := script(t)
	_, err := recall.Evaluate(t.Context(), s.options(t,
		`{"user_id":"u","session_id":"s","text":"Hi","time":"2024-03-04T09:00:00Z"}`))
	if !errors.Is(err, dataset.ErrFormat) {
		t.Errorf("without questions: %v", err)
	}
	o := s.options(t, talkFile)
	o.Publish = func(context.Context, dataset.Session) (recall.Published, error) {
		return recall.Published{Ends: true}, nil
	}
	o.FormTimeout = 30 * time.Millisecond
	if _, err := recall.Evaluate(t.Context(), o); err == nil || !strings.Contains(err.Error(), "session_1") {
		t.Errorf("a session that is never formed: %v", err)
	}
}

func TestASessionWhoseEndIsRefusedIsNotWaitedFor(t *testing.T) {
	o := script(t).options(t, talkFile)
	o.LatencySample = -1
	o.Publish = func(context.Context, dataset.Session) (recall.Published, error) {
		return recall.Published{Refused: []string{"end: too late", "turn: too late"}}, nil
	}
	r, err := recall.Evaluate(t.Context(), o)
	if err != nil || r.Counts.Refused != 2 || r.Formation.N != 0 {
		t.Errorf("%v, %+v, formed %+v", err, r.Counts, r.Formation)
	}
}

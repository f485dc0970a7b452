package recall_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/recall"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/contract"
)

// eager is a scripted Mneme. After four reports, its reranker ranks cited memories first.
type eager struct {
	*scripted
	mnemev1connect.UnimplementedRerankerServiceHandler
	// deaf means that reports have no effect.
	deaf bool
	// began is the initial distance of the weights from the prior.
	began float64

	learned, fresh uint64 // in all, and since the last rollback
	reports        []*mnemev1.ReportCitationsRequest
	rollbacks      []int // number of reports before each rollback
}

func (e *eager) Recall(
	_ context.Context, req *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	e.mu.Lock()
	trained := e.fresh >= 4
	e.mu.Unlock()
	res := &mnemev1.RecallResponse{RecallId: req.Msg.GetUserId() + " asks " + req.Msg.GetQuery()}
	// Five irrelevant memories come before the relevant one until the reranker has learned.
	order := []string{weather, weather, weather, weather, weather, bought}
	if trained {
		order = []string{bought}
	}
	for i, id := range order {
		m := contract.MemoryToProto(e.memories[id])
		m.Id += string(rune('a' + i))
		res.Cited = append(res.Cited, &mnemev1.CitedMemory{Index: uint32(i + 1), Memory: m}) //nolint:gosec // small
	}
	return connect.NewResponse(res), nil
}

func (e *eager) ReportCitations(
	_ context.Context, req *connect.Request[mnemev1.ReportCitationsRequest],
) (*connect.Response[mnemev1.ReportCitationsResponse], error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reports = append(e.reports, req.Msg)
	if !e.deaf {
		e.learned++
		e.fresh++
	}
	return connect.NewResponse(&mnemev1.ReportCitationsResponse{}), nil
}

func (e *eager) ListWeights(
	context.Context, *connect.Request[mnemev1.ListWeightsRequest],
) (*connect.Response[mnemev1.ListWeightsResponse], error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return connect.NewResponse(&mnemev1.ListWeightsResponse{Versions: []*mnemev1.WeightsVersion{
		{Version: e.learned / 4, Learned: e.learned, Distance: e.began + float64(e.fresh)}, {},
	}}), nil
}

func (e *eager) RollbackWeights(
	_ context.Context, req *connect.Request[mnemev1.RollbackWeightsRequest],
) (*connect.Response[mnemev1.RollbackWeightsResponse], error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if req.Msg.GetVersion() != 0 {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("no such version"))
	}
	e.fresh = 0
	e.rollbacks = append(e.rollbacks, len(e.reports))
	return connect.NewResponse(&mnemev1.RollbackWeightsResponse{}), nil
}

// folds returns options that measure an eager Mneme after learning.
func (e *eager) folds(t *testing.T, file string) recall.Options {
	t.Helper()
	o := e.options(t, file)
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(e))
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(e))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	o.Service.Utilizer = mnemev1connect.NewUtilizerServiceClient(server.Client(), server.URL)
	o.Service.Reranker = mnemev1connect.NewRerankerServiceClient(server.Client(), server.URL)
	fold := recall.FoldDefaults()
	o.Learn, o.LatencySample, o.Workers = &fold, -1, 1
	return o
}

// boughtBy is a conversation with one fact and five questions about it.
func boughtBy(user string) string {
	question := `{"question":"What did Iris buy?","answer":"tandem","evidence":["D1:1"],"category":4}`
	return `{"sample_id":"` + user + `","conversation":{"speaker_a":"Iris","speaker_b":"Bo","session_1_date_time":"1:00 pm on 4 March, 2024",
		"session_1":[{"speaker":"Iris","dia_id":"D1:1","text":"I bought a green tandem."},{"speaker":"Bo","dia_id":"D1:2","text":"How nice!"}]},
		"qa":[` + strings.Join(slices.Repeat([]string{question}, 5), ",") + `]}`
}

func TestRecallAfterLearningFromOthers(t *testing.T) {
	e := &eager{scripted: script(t)}
	r, err := recall.Evaluate(t.Context(), e.folds(t, "["+boughtBy("iris")+","+boughtBy("bo")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	l := r.Learned
	if l == nil || len(l.Folds) != 2 {
		t.Fatalf("learned %+v, want two folds", l)
	}
	if !near(l.Before["5"], 0) || !near(l.Before["10"], 1) || !near(l.After["5"], 1) || !near(r.RecallAt["5"], 0) {
		t.Errorf("recall before %v, after %v, of all %v", l.Before, l.After, r.RecallAt)
	}
	for i, f := range l.Folds {
		if f.Reports != 4 || f.Cited != 4 || f.Shown != 24 || f.Questions != 5 || f.Distance != 4 {
			t.Errorf("fold %d: %+v, want 4 reports on 24 memories shown, 4 cited", i, f)
		}
	}
	for i, report := range e.reports {
		if other := l.Folds[1-i/4].User; report.GetUserId() != other || report.GetRecallId() == "" {
			t.Errorf("report %d is of %s, want %s", i, report.GetUserId(), other)
		}
	}
	if !slices.Equal(e.rollbacks, []int{0, 4, 4, 8}) || e.fresh != 0 {
		t.Errorf("taken back after %v reports, want before and after each fold", e.rollbacks)
	}
	var out bytes.Buffer
	if err := r.Render(&out); err != nil || !strings.Contains(out.String(), "@5 0.0 % -> 100.0 %") {
		t.Errorf("error %v, or the output lacks the figures:\n%s", err, out.String())
	}
}

func TestLearningThatCannotBeMeasured(t *testing.T) {
	two := "[" + boughtBy("iris") + "," + boughtBy("bo") + "]"
	for name, tt := range map[string]struct {
		file   string
		change func(*eager)
		want   error
		says   string
	}{
		"one conversation": {"[" + boughtBy("iris") + "]", func(*eager) {}, dataset.ErrFormat,
			"two conversations or more"},
		"weights that learned already":    {two, func(e *eager) { e.began = 1 }, recall.ErrNotTheWeightsOfTheStart, ""},
		"reports that are not learned of": {two, func(e *eager) { e.deaf = true }, nil, "0 of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &eager{scripted: script(t)}
			tt.change(e)
			o := e.folds(t, tt.file)
			o.Learn.Wait = 50 * time.Millisecond
			_, err := recall.Evaluate(t.Context(), o)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.says)
			}
		})
	}
}

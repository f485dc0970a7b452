package reranker

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func request(m uint32, scores ...float64) *mnemev1.RerankRequest {
	req := &mnemev1.RerankRequest{UserId: "ana", Query: "Where does Ana live?", Memories: m}
	for i, s := range scores {
		req.Candidates = append(req.Candidates, &mnemev1.RerankCandidate{MemoryId: fmt.Sprintf("m%03d", i), Content: "text", Score: s})
	}
	return req
}

func rerank(t *testing.T, req *mnemev1.RerankRequest) ([]string, error) {
	t.Helper()
	res, err := server{}.Rerank(t.Context(), connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	if res.Msg.GetWeightsVersion() != WeightsVersion {
		t.Errorf("weights version is %q", res.Msg.GetWeightsVersion())
	}
	ids := []string{}
	for _, r := range res.Msg.GetRanked() {
		ids = append(ids, r.GetMemoryId())
	}
	return ids, nil
}

func TestOrder(t *testing.T) {
	tests := []struct {
		name string
		req  *mnemev1.RerankRequest
		want []string
	}{
		{"best first", request(3, 0.1, 0.9, 0.5), []string{"m001", "m002", "m000"}},
		{"only as many as asked for", request(1, 0.1, 0.9, 0.5), []string{"m001"}},
		{"all where there are fewer", request(100, 0.1, 0.9), []string{"m001", "m000"}},
		{"equal scores by id", request(2, 0.5, 0.5, 0.5), []string{"m000", "m001"}},
		{"negative scores", request(2, -3, -1), []string{"m001", "m000"}},
		{"none of none", request(5), []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rerank(t, tt.req)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestOrderDoesNotDependOnTheOrderOfCandidates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		req := request(uint32(rapid.IntRange(1, 100).Draw(rt, "memories")), rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}), 0, 40).Draw(rt, "scores")...)
		want, err := rerank(t, req)
		if err != nil {
			rt.Fatal(err)
		}
		req.Candidates = rapid.Permutation(req.GetCandidates()).Draw(rt, "shuffled")
		if got, err := rerank(t, req); err != nil || !reflect.DeepEqual(got, want) {
			rt.Fatalf("got %v, %v, want %v", got, err, want)
		}
	})
}

func TestRefusalsNameTheField(t *testing.T) {
	tests := []struct {
		name, field string
		change      func(*mnemev1.RerankRequest)
	}{
		{"no user", "user_id", func(r *mnemev1.RerankRequest) { r.UserId = "" }},
		{"a user that is too long", "user_id", func(r *mnemev1.RerankRequest) { r.UserId = strings.Repeat("u", memory.MaxUserBytes+1) }},
		{"no query", "query", func(r *mnemev1.RerankRequest) { r.Query = " " }},
		{"a query that is too long", "query", func(r *mnemev1.RerankRequest) { r.Query = strings.Repeat("q", memory.MaxQueryBytes+1) }},
		{"no memories", "memories", func(r *mnemev1.RerankRequest) { r.Memories = 0 }},
		{"too many memories", "memories", func(r *mnemev1.RerankRequest) { r.Memories = 101 }},
		{"too many candidates", "candidates", func(r *mnemev1.RerankRequest) { r.Candidates = request(1, make([]float64, 201)...).GetCandidates() }},
		{"a candidate without id", "candidates.memory_id", func(r *mnemev1.RerankRequest) { r.Candidates[0].MemoryId = "" }},
		{"a candidate that is repeated", "candidates.memory_id", func(r *mnemev1.RerankRequest) { r.Candidates[1].MemoryId = r.Candidates[0].MemoryId }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := request(2, 0.1, 0.2)
			tt.change(req)
			_, err := rerank(t, req)
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), tt.field+": ") {
				t.Errorf("got %v, want an invalid argument that names %s", err, tt.field)
			}
		})
	}
}

func TestTheLargestRequestsAreTaken(t *testing.T) {
	req := request(100, make([]float64, 200)...)
	req.UserId, req.Query = strings.Repeat("u", memory.MaxUserBytes), strings.Repeat("q", memory.MaxQueryBytes)
	if got, err := rerank(t, req); err != nil || len(got) != 100 {
		t.Errorf("got %d memories, %v", len(got), err)
	}
}

type counted struct {
	tenant       string
	cited, shown int
}

func learner(t *testing.T) (*Learner, *[]counted) {
	t.Helper()
	tenants, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	counts := &[]counted{}
	return &Learner{Tenants: tenants, Count: func(_ context.Context, tenantID string, cited, shown int) {
		*counts = append(*counts, counted{tenantID, cited, shown})
	}}, counts
}

func feedback(t *testing.T, tenantID string, cited []string, shown ...string) bus.Message {
	t.Helper()
	f := contract.Feedback{
		Envelope: contract.Envelope{EventID: "r1", Scope: memory.Scope{Tenant: tenantID, User: "ana"}},
		RecallID: "r1", Shown: shown, Cited: cited, Time: time.Now(),
	}
	value, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{Topic: contract.TopicFeedback, Key: f.Key(), Value: value}
}

func TestFeedbackIsCounted(t *testing.T) {
	l, counts := learner(t)
	batch := []bus.Message{feedback(t, "acme", []string{"m2"}, "m1", "m2", "m3"), feedback(t, "acme", nil, "m1")}
	if err := l.Handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if want := []counted{{"acme", 1, 3}, {"acme", 0, 1}}; !reflect.DeepEqual(*counts, want) {
		t.Errorf("counted %v, want %v", *counts, want)
	}
}

func TestNothingOfABadBatchIsCounted(t *testing.T) {
	good := feedback(t, "acme", nil, "m1")
	tests := []struct {
		name, field string
		batch       []bus.Message
	}{
		{"a record that is no feedback", "", []bus.Message{good, {Key: good.Key, Value: []byte("?")}}},
		{"a key of another user", "key", []bus.Message{good, {Key: []byte("acme/eva"), Value: good.Value}}},
		{"an unknown tenant", "tenant_id", []bus.Message{feedback(t, "nobody", nil, "m1")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, counts := learner(t)
			err := l.Handle(t.Context(), tt.batch)
			if !fault.IsTerminal(err) || fault.Field(err) != tt.field {
				t.Errorf("got %v, want a terminal error about %q", err, tt.field)
			}
			if len(*counts) != 0 {
				t.Errorf("counted %v", *counts)
			}
		})
	}
}

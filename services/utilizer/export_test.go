package utilizer

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

// RetractWait is how long DeleteMemory waits.
const RetractWait = retractWait

// Fared receives the use of memories in a recall.
type Fared func(ctx context.Context, scope memory.Scope, recallID string, shown, cited []string, byCaller bool)

// Handler serves both services for tests, as build does.
func Handler(
	r *Recaller, feedback bus.Publisher, writer Writer, fared Fared, log *slog.Logger, auth rpcauth.Authenticator,
) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(&server{recaller: r, feedback: feedback, fared: fared, log: log}))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(NewMemoryServer(r, writer, log)))
	mux.Handle(mnemev1connect.NewDiagnosisServiceHandler(&diagnosisServer{answers: &server{recaller: r, log: log}}))
	return rpcauth.Require(auth, rpcauth.Inside{}, mux, nil)
}

// NewMemoryServer creates the MemoryService without authentication.
func NewMemoryServer(r *Recaller, writer Writer, log *slog.Logger) mnemev1connect.MemoryServiceHandler {
	return &memoryServer{bank: r.Bank, window: r.Window, writer: writer, indexes: r.Indexes, log: log}
}

// DropChanged handles memory changes.
func DropChanged(s *IndexCache) bus.Handler { return dropChanged(s) }

// NewRemoteRanker creates a ranker that calls a reranker.
func NewRemoteRanker(c mnemev1connect.RerankerServiceClient) Ranker { return remoteRanker{c} }

// Fetch starts the load of a user's index, as a first recall does, and returns a function that waits for it.
func (s *IndexCache) Fetch(scope memory.Scope) (wait func()) {
	ready := s.fetch(scope)
	return func() {
		if ready != nil {
			<-ready
		}
	}
}

// Has reports whether a user's index is ready.
func (s *IndexCache) Has(scope memory.Scope) bool {
	e, ok := s.cache.GetEntryQuietly(scope)
	return ok && e.Value.index != nil
}

// Held returns the counted size of an index cache, the sum of its entries' sizes, and the number of entries.
func (s *IndexCache) Held() (account, sum, entries int) {
	s.cache.CleanUp()
	for scope, e := range s.cache.All() {
		sum += e.bytes + 2*len(scope.Key())
		entries++
		if e.index != nil && e.bytes < e.index.Bytes() {
			panic("an index is not counted")
		}
	}
	return int(s.cache.WeightedSize()), sum, entries
}

// Dialogue returns the dialogue text of turns for a memory.
func Dialogue(turns []memory.Turn) string { return dialogue(turns) }

// Shown returns the ids of the memories shown for a question about the present. The candidates with the places
// ranked and own have places already.
func Shown(core, candidates []memory.Memory, ranked, own []int, memories int, explored string) []string {
	f := found{coreMemories: core}
	for _, m := range candidates {
		f.candidates = append(f.candidates, candidate{Memory: m})
	}
	places := withNewer(f, ranked, append(slices.Clone(ranked), own...), Request{Memories: memories}, explored)
	out := make([]string, len(places))
	for k, i := range places {
		out[k] = f.candidates[i].Memory.ID
	}
	return out
}

// Limits returns the numbers of candidates and memories of a request.
func Limits(req *mnemev1.RecallRequest) (candidates, memories int, err error) {
	q, err := requestFrom(req)
	return q.Candidates, q.Memories, err
}

// Chosen returns the ids of the first n candidates with their newer memories.
func Chosen(all []memory.Memory, n int) []string {
	var candidates []candidate
	for _, m := range all {
		candidates = append(candidates, candidate{Memory: m})
	}
	var out []string
	for _, c := range chosen(candidates, n, nil) {
		out = append(out, c.Memory.ID)
	}
	return out
}

// WithinHorizon returns the ids of the candidates in the time of a query, each given with its siblings.
func WithinHorizon(h query.Horizon, groups [][]memory.Memory) []string {
	var all []candidate
	for _, g := range groups {
		all = append(all, candidate{Memory: g[0], Siblings: g[1:]})
	}
	var out []string
	for _, c := range within(h, all) {
		out = append(out, c.Memory.ID)
	}
	return out
}

package utilizer

import (
	"log/slog"
	"net/http"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

// RetractWait is how long DeleteMemory waits.
const RetractWait = retractWait

// Handler serves both services for tests, as build does.
func Handler(r *Recaller, feedback bus.Publisher, writer Signaller, log *slog.Logger, auth rpcauth.Authenticator) http.Handler {
	doors := connect.WithInterceptors(rpcauth.New(auth))
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(&server{recaller: r, feedback: feedback, log: log}, doors))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(NewMemoryServer(r, writer, log), doors))
	mux.Handle(mnemev1connect.NewDiagnosisServiceHandler(&diagnosisServer{answers: &server{recaller: r, log: log}}, doors))
	return mux
}

// NewMemoryServer is the MemoryService without its door.
func NewMemoryServer(r *Recaller, writer Signaller, log *slog.Logger) mnemev1connect.MemoryServiceHandler {
	return &memoryServer{bank: r.Bank, window: r.Window, writer: writer, shelf: r.Shelf, log: log}
}

// DropChanged handles memory changes.
func DropChanged(s *IndexCache) bus.Handler { return dropChanged(s) }

// NewRemoteRanker asks a reranker.
func NewRemoteRanker(c mnemev1connect.RerankerServiceClient) Ranker { return remoteRanker{c} }

// Fetch makes a user's index ready, as a first recall does.
func (s *IndexCache) Fetch(scope memory.Scope) <-chan struct{} { return s.fetch(scope) }

// Has says whether a user's index is ready.
func (s *IndexCache) Has(scope memory.Scope) bool {
	_, ok, _ := s.get(scope)
	return ok
}

// Held is what a shelf takes by its own account, what the entries that it has add up to, and how many there are.
func (s *IndexCache) Held() (account, sum, entries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.kept.Values() {
		sum += e.bytes
		if e.index != nil && e.bytes < e.index.Bytes() {
			panic("an index is not counted")
		}
	}
	return s.bytes, sum, s.kept.Len()
}

// Dialogue is what a memory carries of turns.
func Dialogue(turns []memory.Turn) string { return dialogue(turns) }

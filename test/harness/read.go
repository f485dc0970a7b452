package harness

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/contract"
)

// Client holds the public RPCs with one API key.
type Client struct {
	mnemev1connect.UtilizerServiceClient
	mnemev1connect.MemoryServiceClient
	mnemev1connect.UserDataServiceClient
	mnemev1connect.DiagnosisServiceClient
}

// Client returns a client with a tenant's key.
func (s *System) Client(tenant string) Client { return s.ClientWithKey(KeyOf(tenant)) }

// ClientWithKey returns a client with a key. An empty key means no credential.
func (s *System) ClientWithKey(key string) Client { return s.clientOver(s.client, key) }

// ClientOver is Client over a given HTTP client.
func (s *System) ClientOver(client *http.Client, tenant string) Client {
	return s.clientOver(client, KeyOf(tenant))
}

func (s *System) clientOver(client *http.Client, key string) Client {
	url := "http://" + s.utilizer
	bearer := connect.WithInterceptors(credential(key))
	return Client{
		mnemev1connect.NewUtilizerServiceClient(client, url, bearer),
		mnemev1connect.NewMemoryServiceClient(client, url, bearer),
		mnemev1connect.NewUserDataServiceClient(client, url, bearer),
		mnemev1connect.NewDiagnosisServiceClient(client, url, bearer),
	}
}

// credential adds a key to calls, unless it is empty.
type credential string

func (c credential) put(h http.Header) {
	if c != "" {
		h.Set("Authorization", "Bearer "+string(c))
	}
}

// WrapUnary implements connect.Interceptor.
func (c credential) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		c.put(req.Header())
		return next(ctx, req)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (c credential) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		c.put(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor. It changes nothing, because a client has no handlers.
func (credential) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// AwaitFormed waits until every session's memories are formed. It retries failed calls, because a test may have
// stopped services.
func (s *System) AwaitFormed(tb testing.TB, tenant string, sessions ...dataset.Session) {
	tb.Helper()
	c := s.Client(tenant)
	for _, session := range sessions {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		last := "not asked"
		err := poll(ctx, func(ctx context.Context) (bool, error) {
			res, err := c.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: session.User,
				SessionId: session.ID}))
			if err != nil {
				if ctx.Err() == nil {
					last = err.Error()
				}
				return false, nil
			}
			last = fmt.Sprintf("%s after %d turns", res.Msg.GetState(), res.Msg.GetTurns())
			return res.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED, nil
		})
		cancel()
		if err != nil {
			tb.Fatalf("session %q of %q is not formed (%s): %v", session.ID, session.User, last, err)
		}
	}
}

// Entry holds the comparable parts of a memory: those that depend on the conversation only. Write time and trace are
// excluded.
type Entry struct {
	ID, Content, Kind, Status string
	Version                   uint32
	Predecessors, Sources     []string
	Session                   string
	ValidFrom, ValidTo        time.Time
}

func (e Entry) String() string {
	return fmt.Sprintf("%s v%d %s %s %q from %v in %s, takes the place of %v, valid %s to %s", e.ID, e.Version, e.Status,
		e.Kind, e.Content,
		e.Sources, e.Session, e.Predecessors, day(e.ValidFrom), day(e.ValidTo))
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.RFC3339)
}

// Memories returns all of a user's entries, closed ones too, oldest first.
func (s *System) Memories(tb testing.TB, tenant, user string) []*mnemev1.Memory {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	var out []*mnemev1.Memory
	for token := ""; ; {
		res, err := s.Client(tenant).
			ListMemories(ctx, connect.NewRequest(&mnemev1.ListMemoriesRequest{UserId: user, PageSize: 1000, PageToken: token,
				Tiers: contract.TiersOf("all")}))
		if err != nil {
			tb.Fatalf("list memories of %q: %v", user, err)
		}
		out = append(out, res.Msg.GetMemories()...)
		if token = res.Msg.GetNextPageToken(); token == "" {
			return out
		}
	}
}

// Snapshot returns the comparable state of a user's bank, sorted.
func (s *System) Snapshot(tb testing.TB, tenant, user string) []Entry {
	tb.Helper()
	memories := s.Memories(tb, tenant, user)
	out := make([]Entry, len(memories))
	for i, m := range memories {
		out[i] = Entry{
			ID: m.GetId(), Content: m.GetContent(), Kind: m.GetKind().String(), Status: m.GetStatus().String(),
			Version:      m.GetVersion(),
			Predecessors: slices.Sorted(slices.Values(m.GetPredecessorIds())),
			Sources:      slices.Sorted(slices.Values(m.GetSourceTurnIds())),
			Session:      m.GetSessionId(), ValidFrom: moment(m.GetValidFrom()), ValidTo: moment(m.GetValidTo()),
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func moment(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// Diff returns the differences of two snapshots, a line per entry; empty for equal ones.
func Diff(want, got []Entry) string {
	seen := map[string]int{}
	for _, e := range want {
		seen[e.String()]++
	}
	for _, e := range got {
		seen[e.String()]--
	}
	var lines []string
	for line, n := range seen {
		for ; n > 0; n-- {
			lines = append(lines, "missing: "+line)
		}
		for ; n < 0; n++ {
			lines = append(lines, "extra:   "+line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

package harness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"connectrpc.com/connect"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/store/transfer"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// Erase requests the erasure of a user and waits until the service has proved it.
func (s *System) Erase(tb testing.TB, tenant, user string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	res, err := s.Client(tenant).EraseUser(ctx, connect.NewRequest(&mnemev1.EraseUserRequest{UserId: user}))
	if err != nil {
		tb.Fatalf("erase %q: %v", user, err)
	}
	s.AwaitErased(tb, tenant, user, res.Msg.GetErasureId())
}

// AwaitErased waits until an erasure is proved. It retries failed calls.
func (s *System) AwaitErased(tb testing.TB, tenant, user, id string) {
	tb.Helper()
	Await(tb, "the erasure of "+user+" is proved", func(ctx context.Context) (bool, error) {
		res, err := s.Client(tenant).GetErasure(ctx,
			connect.NewRequest(&mnemev1.GetErasureRequest{UserId: user, ErasureId: id}))
		return err == nil && res.Msg.GetState() == mnemev1.ErasureState_ERASURE_STATE_DONE, nil
	})
}

// Scan returns the number of a user's stored objects by store, without empty stores.
func (s *System) Scan(tb testing.TB, tenant, user string) map[string]uint64 {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	res, err := s.Client(tenant).ScanUser(ctx, connect.NewRequest(&mnemev1.ScanUserRequest{UserId: user}))
	if err != nil {
		tb.Fatalf("scan %q: %v", user, err)
	}
	out := map[string]uint64{}
	for _, c := range res.Msg.GetCounts() {
		if c.GetCount() > 0 {
			out[c.GetStore()] = c.GetCount()
		}
	}
	return out
}

// Export returns a user's bank as JSON lines.
func (s *System) Export(tb testing.TB, tenant, user string) []byte {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	stream, err := s.Client(tenant).ExportUser(ctx, connect.NewRequest(&mnemev1.ExportUserRequest{UserId: user}))
	if err != nil {
		tb.Fatalf("export %q: %v", user, err)
	}
	var out []byte
	for stream.Receive() {
		out = append(out, stream.Msg().GetData()...)
	}
	if err := errors.Join(stream.Err(), stream.Close()); err != nil {
		tb.Fatalf("export %q: %v", user, err)
	}
	return out
}

// Import imports an export page by page.
func (s *System) Import(ctx context.Context, tenant, user string, in io.Reader) error {
	pages, err := transfer.NewPages(in)
	if err != nil {
		return err
	}
	var now *mnemev1.BankCounts
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		res, err := s.Client(tenant).ImportUser(ctx, connect.NewRequest(&mnemev1.ImportUserRequest{
			UserId: user, Header: string(pages.HeaderLine), Lines: page.Lines,
			FirstLine: uint64(page.First), SoFar: now, //nolint:gosec // a line's number
		}))
		if err != nil {
			return err
		}
		now = res.Msg.GetSoFar()
	}
}

// Histories returns the ids of the server's workflows with a history that contains a text. It does not search large
// payloads, because they are compressed.
func (s *System) Histories(tb testing.TB, text string) []string {
	tb.Helper()
	return HistoriesAt(tb, s.Servers.Temporal.Addr(), []byte(text))
}

// HistoriesAt is Histories for a server at an address and for several texts.
func HistoriesAt(tb testing.TB, server string, texts ...[]byte) []string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	c, err := client.DialContext(ctx, consolidation.ClientOptions(client.Options{HostPort: server, Logger: silent{}}))
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	var out []string
	for token := []byte(nil); ; {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{NextPageToken: token})
		if err != nil {
			tb.Fatal(err)
		}
		for _, run := range page.GetExecutions() {
			held, err := holds(ctx, c, run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId(), texts)
			if err != nil {
				tb.Fatal(err)
			}
			if held {
				out = append(out, run.GetExecution().GetWorkflowId())
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return slices.Compact(slices.Sorted(slices.Values(out)))
		}
	}
}

// holds reports whether a run's history contains one of the texts. A deleted run contains none.
func holds(ctx context.Context, c client.Client, id, run string, texts [][]byte) (bool, error) {
	for it := c.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		event, err := it.Next()
		var absent *serviceerror.NotFound
		if errors.As(err, &absent) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		data, err := proto.Marshal(event)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(data, text) }) {
			return true, nil
		}
	}
	return false, nil
}

// silent is a logger of the workflow client that discards every line.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

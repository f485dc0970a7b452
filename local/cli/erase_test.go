package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

const exported = `{"header":{"format":"mneme-bank","version":1,"user":"ana","model":"m","dimension":2,` +
	`"counts":{"memories":0,"turns":2,"sessions":0,"core":0}}}
{"turn":{"id":"t1","session_id":"s1","speaker":"Ana","role":"user","text":"I swim.","time":"2026-03-01T12:00:00Z"}}
{"turn":{"id":"t2","session_id":"s1","speaker":"Ana","role":"user","text":"A lot.","time":"2026-03-01T12:00:00Z"}}
`

// data is a user data service. An erasure removes all data of its user except left.
type data struct {
	mnemev1connect.UnimplementedUserDataServiceHandler
	mu       sync.Mutex
	asked    int
	erased   bool
	stuck    bool // the erasure is never proved
	pending  bool // the erasure has not begun, or is not known
	ended    bool // the erasure was ended from outside
	left     uint64
	nothing  bool // nothing is kept of the user
	busy     int  // how many scans it refuses
	imported []byte
	cut      bool
	refusal  error
}

func (d *data) EraseUser(
	context.Context, *connect.Request[mnemev1.EraseUserRequest],
) (*connect.Response[mnemev1.EraseUserResponse],
	error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erased = true
	return connect.NewResponse(&mnemev1.EraseUserResponse{ErasureId: "x1"}), nil
}

func (d *data) GetErasure(
	context.Context, *connect.Request[mnemev1.GetErasureRequest],
) (*connect.Response[mnemev1.GetErasureResponse],
	error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return nil, connect.NewError(connect.CodeAborted, errors.New("the erasure was ended"))
	}
	if d.pending {
		return connect.NewResponse(&mnemev1.GetErasureResponse{State: mnemev1.ErasureState_ERASURE_STATE_PENDING}), nil
	}
	if d.asked++; d.asked < 2 || d.stuck {
		return connect.NewResponse(&mnemev1.GetErasureResponse{
			State: mnemev1.ErasureState_ERASURE_STATE_RUNNING, Remaining: remaining(),
		}), nil
	}
	return connect.NewResponse(&mnemev1.GetErasureResponse{State: mnemev1.ErasureState_ERASURE_STATE_DONE,
		DoneAt: timestamppb.New(time.Unix(0, 0))}), nil
}

func remaining() []*mnemev1.StoreRemainder {
	return []*mnemev1.StoreRemainder{{Store: "workflow histories", Count: 2},
		{Store: "recall traces", Count: 1, Error: "unavailable"}}
}

func (d *data) ListErasures(context.Context, *connect.Request[mnemev1.ListErasuresRequest]) (
	*connect.Response[mnemev1.ListErasuresResponse], error) {
	return connect.NewResponse(&mnemev1.ListErasuresResponse{More: true, Erasures: []*mnemev1.RunningErasure{{
		UserId: "ana", ErasureId: "x1", StartedAt: timestamppb.New(time.Now().Add(-time.Hour)), Rounds: 9,
		Remaining: remaining(),
	}}}), nil
}

func (d *data) ScanUser(
	context.Context, *connect.Request[mnemev1.ScanUserRequest],
) (*connect.Response[mnemev1.ScanUserResponse], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy--; d.busy >= 0 {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("a store is busy"))
	}
	n := uint64(42)
	if d.erased || d.nothing {
		n = d.left
	}
	return connect.NewResponse(&mnemev1.ScanUserResponse{
		Counts: []*mnemev1.StoreCount{{Store: "memories", Count: n}, {Store: "dead letters"}},
		Transport: []*mnemev1.TransportTopic{
			{Topic: "mneme.session-events", Texts: true, RetentionMs: 7 * 86_400_000},
			{Topic: "mneme.salient-turns", Texts: true, RetentionMs: 3_600_000}, {Topic: "mneme.feedback", RetentionMs: -1},
			{Topic: "other"},
		},
	}), nil
}

func (d *data) ExportUser(_ context.Context, _ *connect.Request[mnemev1.ExportUserRequest],
	stream *connect.ServerStream[mnemev1.ExportUserResponse]) error {
	for part := range bytes.SplitSeq([]byte(exported), []byte("swim")) {
		if err := stream.Send(&mnemev1.ExportUserResponse{Data: part}); err != nil {
			return err
		}
		if d.cut {
			return connect.NewError(connect.CodeAborted, context.Canceled)
		}
		if err := stream.Send(&mnemev1.ExportUserResponse{Data: []byte("swim")}); err != nil {
			return err
		}
	}
	return nil
}

func (d *data) ImportUser(_ context.Context,
	req *connect.Request[mnemev1.ImportUserRequest]) (*connect.Response[mnemev1.ImportUserResponse], error) {
	if d.refusal != nil {
		return nil, d.refusal
	}
	d.imported = append(append(append(d.imported, req.Msg.GetHeader()...), '\n'), req.Msg.GetLines()...)
	return connect.NewResponse(&mnemev1.ImportUserResponse{
		SoFar: &mnemev1.BankCounts{Turns: uint64(bytes.Count(req.Msg.GetLines(), []byte("\n")))}, EmbeddedAnew: true,
	}), nil
}

// serveData makes a user data service listen behind a key.
func serveData(t *testing.T, d *data) []string {
	t.Helper()
	_, handler := mnemev1connect.NewUserDataServiceHandler(d)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return []string{"--user", "ana", "--url", srv.URL, "--key", key}
}

func TestEraseWaitsForTheProofAndPrintsIt(t *testing.T) {
	d := &data{}
	code, out, errOut := run(t, append([]string{"erase", "--yes"}, serveData(t, d)...)...)
	if code != command.ExitOK || !d.erased || d.asked < 2 {
		t.Fatalf("exit code %d, %s", code, errOut)
	}
	for _, want := range []string{"memories", "42", "mneme.session-events", "texts, kept up to 7 days",
		"texts, kept up to 1 hour",
		"ids only, kept for ever", "x1"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	d.asked, d.erased = 0, false
	code, out, _ = run(t, append([]string{"erase", "--yes", "--json"}, serveData(t, d)...)...)
	var got struct {
		Erasure       struct{ State string } `json:"erasure"`
		Before, After struct{ Counts []struct{ Count string } }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != command.ExitOK ||
		got.Before.Counts[0].Count != "42" ||
		got.After.Counts[0].Count != "0" {
		t.Errorf("exit code %d, %v, %s", code, err, out)
	}
}

func TestEraseIsPatientWithABusyStore(t *testing.T) {
	code, out, errOut := run(t, append([]string{"erase", "--yes"}, serveData(t, &data{busy: 2})...)...)
	if code != command.ExitOK || !strings.Contains(out, "erasure x1 was proved") {
		t.Errorf("exit code %d, %q, %q", code, out, errOut)
	}
	code, _, errOut = run(t, append([]string{"erase", "--yes", "--timeout", "1s"}, serveData(t, &data{busy: 1000})...)...)
	if code != command.ExitUnreachable || !strings.Contains(errOut, "a store is busy") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}

func TestEraseOfAUserWithoutDataTakesOneLine(t *testing.T) {
	d := &data{nothing: true}
	code, out, _ := run(t, append([]string{"erase", "--yes"}, serveData(t, d)...)...)
	if want := "nothing is kept of user ana; erasure x1 was proved at 1970-01-01T00:00:00Z\n"; code != command.ExitOK ||
		out != want {
		t.Errorf("exit code %d, %q, want %q", code, out, want)
	}
	// The scan before the wait for an earlier erasure may find nothing any more, but topics may keep texts.
	code, out, _ = run(t, append([]string{"erase", "--erasure", "x1"}, serveData(t, d)...)...)
	if code != command.ExitOK || !strings.Contains(out, "mneme.session-events") {
		t.Errorf("exit code %d, %q lacks the topics", code, out)
	}
}

const waited = "workflow histories (2), recall traces (unavailable)"

func TestEraseSaysWhatItWaitsForAndHowToGoOn(t *testing.T) {
	d := &data{stuck: true}
	code, _, errOut := run(t, append([]string{"erase", "--yes", "--timeout", "1s"}, serveData(t, d)...)...)
	if code != command.ExitFailed || strings.Count(errOut, "erasure x1 waits for "+waited) != 1 {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	for _, want := range []string{"the timeout of 1s is over", "it waits for " + waited,
		"mneme erase --user ana --erasure x1",
		"mneme erasures"} {
		if !strings.Contains(errOut, want) {
			t.Errorf("%q is missing in %q", want, errOut)
		}
	}
	d.stuck, d.erased = false, false
	code, out, errOut := run(t, append([]string{"erase", "--erasure", "x1"}, serveData(t, d)...)...)
	// the user of this service has 42 memories
	if d.erased || code != command.ExitFailed || !strings.Contains(out, "erasure x1 was proved") {
		t.Errorf("exit code %d, asked for a new one %t, %q, %q", code, d.erased, out, errOut)
	}
}

// Only an erasure that the command stops waiting for continues.
func TestEraseSaysThatAnErasureWasEnded(t *testing.T) {
	code, _, errOut := run(t, append([]string{"erase", "--yes"}, serveData(t, &data{ended: true})...)...)
	if code != command.ExitFailed || !strings.Contains(errOut, "the erasure was ended") ||
		strings.Contains(errOut, "continues") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}

func TestEraseSaysThatAnErasureMayNotBeKnown(t *testing.T) {
	at := append([]string{"erase", "--timeout", "1s"}, serveData(t, &data{pending: true})...)
	code, _, errOut := run(t, append(at, "--erasure", "x9")...)
	if code != command.ExitFailed || !strings.Contains(errOut, "erasure x9 is not known, or") ||
		strings.Contains(errOut, "is accepted") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	code, _, errOut = run(t, append(at, "--yes")...)
	if code != command.ExitFailed || !strings.Contains(errOut, "erasure x1 is accepted") ||
		strings.Contains(errOut, "not known") {
		t.Errorf("asked for by the command: exit code %d, %q", code, errOut)
	}
}

func TestTheHelpOfEraseNamesWhatIsErased(t *testing.T) {
	_, out, _ := run(t, "erase", "--help")
	for _, want := range []string{
		"memories", "turns", "core block", "working memory", "verbatim items", "mem0's API", "answers", "decisions",
		"calls of models",
		"traces of recalls",
		"deliveries of webhooks", "dead letters", "workflow histories",
	} {
		if !strings.Contains(strings.ReplaceAll(out, "\n", " "), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestErasuresListsWhatRunsAndWhy(t *testing.T) {
	at := serveData(t, &data{})[2:] // no --user
	code, out, errOut := run(t, append([]string{"erasures"}, at...)...)
	for _, want := range []string{"ana", "x1", "1h0m0s", "9", waited, "There are more."} {
		if code != command.ExitOK || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %q is missing in %q, %q", code, want, out, errOut)
		}
	}
	code, out, _ = run(t, append([]string{"erasures", "--json"}, at...)...)
	var got struct {
		More     bool
		Erasures []struct {
			ErasureID string `json:"erasure_id"`
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != command.ExitOK || !got.More ||
		got.Erasures[0].ErasureID != "x1" {
		t.Errorf("exit code %d, %v, %s", code, err, out)
	}
}

func TestEraseFailsWhereSomethingIsLeft(t *testing.T) {
	d := &data{left: 3}
	code, out, errOut := run(t, append([]string{"erase", "--yes"}, serveData(t, d)...)...)
	if code != command.ExitFailed || !strings.Contains(errOut, "something is left") || !strings.Contains(out, "3") {
		t.Errorf("exit code %d, %q, %q", code, out, errOut)
	}
}

func TestEraseAsksFirst(t *testing.T) {
	d := &data{}
	null, err := os.Open(os.DevNull) // a character device that is no terminal
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stdin := os.Stdin
	os.Stdin = null
	defer func() { os.Stdin = stdin }()
	code, _, errOut := run(t, append([]string{"erase"}, serveData(t, d)...)...)
	if code != command.ExitUsage || d.erased || !strings.Contains(errOut, "--yes") {
		t.Errorf("exit code %d, erased %t without an answer: %q", code, d.erased, errOut)
	}
}

func TestExportAndImportOfAFile(t *testing.T) {
	d := &data{}
	at := serveData(t, d)
	file := filepath.Join(t.TempDir(), "ana.jsonl")
	want := exported + "swim" // the fake repeats it after every part
	if code, out, errOut := run(t, append([]string{"export"}, at...)...); code != command.ExitOK || out != want {
		t.Fatalf("exit code %d, %q, %q", code, errOut, out)
	}
	if code, _, errOut := run(t, append([]string{"export", "--out", file}, at...)...); code != command.ExitOK {
		t.Fatalf("exit code %d, %q", code, errOut)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%v, wrote %q", err, got)
	}
	if code, _, _ := run(t, append([]string{"export", "--out", file}, at...)...); code != command.ExitUsage {
		t.Errorf("exit code %d for a file that is there", code)
	}
	if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, append([]string{"import", file}, at...)...)
	if code != command.ExitOK || string(d.imported) != exported || !strings.Contains(out, "2 turns") ||
		!strings.Contains(out,
			"embedded again") {
		t.Errorf("exit code %d, %q, %q, imported %q", code, out, errOut, d.imported)
	}
}

func TestHalfAnExportLeavesNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ana.jsonl")
	code, _, _ := run(t, append([]string{"export", "--out", file}, serveData(t, &data{cut: true})...)...)
	if _, err := os.Stat(file); code != command.ExitFailed || !os.IsNotExist(err) {
		t.Errorf("exit code %d, and the file: %v", code, err)
	}
}

func TestABrokenImportSaysWhere(t *testing.T) {
	lines := strings.SplitAfter(exported, "\n")
	for name, c := range map[string]struct{ content, says string }{
		"no header": {lines[1], "line 1: header"},
		"cut off":   {lines[0] + lines[1], "line 3: is the end"},
		"too long":  {lines[0] + strings.Repeat("x", 2<<20), "line 2: has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ana.jsonl")
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, errOut := run(t, append([]string{"import", file}, serveData(t, &data{})...)...)
			if code != command.ExitUsage || !strings.Contains(errOut, c.says) {
				t.Errorf("exit code %d, %q", code, errOut)
			}
		})
	}
}

func TestWhatTheServiceRefusesOfAFileNamesIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ana.jsonl")
	if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		refusal error
		code    int
		says    string
		named   bool
	}{
		"a line": {connect.NewError(connect.CodeInvalidArgument, errors.New("line 2: turn.text: is empty")),
			command.ExitUsage,
			"line 2: turn.text: is empty", true},
		"the user": {connect.NewError(connect.CodeInvalidArgument, errors.New("user_id: is too long")), command.ExitUsage,
			"user_id", false},
		"a bank not empty": {connect.NewError(connect.CodeFailedPrecondition, errors.New("not empty")), command.ExitFailed,
			"not empty",
			false},
		"a service is unavailable": {connect.NewError(connect.CodeUnavailable, errors.New("try again")),
			command.ExitUnreachable,
			"try again", false},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errOut := run(t, append([]string{"import", file}, serveData(t, &data{refusal: c.refusal})...)...)
			if code != c.code || !strings.Contains(errOut, c.says) || strings.Contains(errOut, file+": "+c.says) != c.named {
				t.Errorf("exit code %d, %q", code, errOut)
			}
		})
	}
}

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
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key    = "mneme_0123456789abcdef"
	memID  = "6f9619ff-8b86-5d01-b42d-00cf4fc964ff"
	nasty  = "lives\x1b[2J in\x07 Porto\u009b31m"
	atNoon = "2026-03-01T12:00:00Z"
)

// fake is a utilizer with one memory.
type fake struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	mnemev1connect.UnimplementedMemoryServiceHandler
	mnemev1connect.UnimplementedDiagnosisServiceHandler
	err error
	// empty means that the service keeps nothing.
	empty bool
	// replaced means that newID replaced every memory that is read by id.
	replaced bool
	// messages receives the messages of each recall; nil drops them.
	messages chan []*mnemev1.Message
}

func one() *mnemev1.Memory {
	at := timestamppb.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	return &mnemev1.Memory{
		Id: memID, Kind: mnemev1.Kind_KIND_FACT, Content: nasty, Status: mnemev1.Status_STATUS_ACTIVE, Version: 2,
		SourceTurnIds: []string{
			"t1\x1b[0m",
		}, Speaker: "Ana\x1b[0m", ValidFrom: timestamppb.New(time.Date(2026, 4, 9, 0, 0, 0, 0, time.UTC)),
		EventTime: &mnemev1.EventTime{Time: at, Precision: mnemev1.Precision_PRECISION_MONTH},
	}
}

func turns() []*mnemev1.Turn {
	return []*mnemev1.Turn{{TurnId: "t1\x1b", Speaker: "Ana\x1b]0;x\x07", Role: mnemev1.Role_ROLE_USER, Text: nasty,
		Time: timestamppb.New(time.Unix(0, 0))}}
}

// newID is the memory that replaces others.
const newID = "8f9619ff-8b86-5d01-b42d-00cf4fc964ff"

func profile() *mnemev1.RecallResponse {
	return &mnemev1.RecallResponse{
		RecallId: "r1", Profile: nasty, Sections: []*mnemev1.ProfileSection{{Name: "constraints",
			Lines: []string{nasty + " [1]"}}},
		Cited:    []*mnemev1.CitedMemory{{Index: 1, Memory: one(), Score: 0.5}},
		Degraded: []string{"the reranker is unavailable"},
		TraceId:  strings.Repeat("a", 32),
	}
}

func answer[T any](f fake, msg *T) (*connect.Response[T], error) {
	if f.err != nil {
		return nil, f.err
	}
	return connect.NewResponse(msg), nil
}

func (f fake) Recall(
	_ context.Context, req *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	if f.messages != nil {
		f.messages <- req.Msg.GetMessages()
	}
	if f.empty {
		return answer(f, &mnemev1.RecallResponse{})
	}
	return answer(f, profile())
}

func (f fake) Answer(
	context.Context, *connect.Request[mnemev1.AnswerRequest],
) (*connect.Response[mnemev1.AnswerResponse], error) {
	if f.empty {
		return answer(f, &mnemev1.AnswerResponse{Recall: &mnemev1.RecallResponse{}})
	}
	return answer(f, &mnemev1.AnswerResponse{Answer: nasty, CitedIds: []string{memID}, Recall: profile()})
}

func (f fake) ListMemories(_ context.Context,
	req *connect.Request[mnemev1.ListMemoriesRequest]) (*connect.Response[mnemev1.ListMemoriesResponse], error) {
	if f.empty {
		return answer(f, &mnemev1.ListMemoriesResponse{})
	}
	next := "second"
	if req.Msg.GetPageToken() != "" {
		next = ""
	}
	m := one()
	if slices.Equal(req.Msg.GetStatuses(), []mnemev1.Status{mnemev1.Status_STATUS_QUARANTINED}) {
		m.Status, m.Quarantine = mnemev1.Status_STATUS_QUARANTINED, "order"
	}
	if f := req.Msg.GetFilter().GetCondition(); f != nil {
		m.Content = f.GetField() + " is " + f.GetEquals().GetStringValue()
	}
	return answer(f, &mnemev1.ListMemoriesResponse{Memories: []*mnemev1.Memory{m}, NextPageToken: next})
}

func (f fake) GetMemory(_ context.Context,
	req *connect.Request[mnemev1.GetMemoryRequest]) (*connect.Response[mnemev1.GetMemoryResponse], error) {
	m := one()
	if f.replaced {
		m.Id, m.Status = req.Msg.GetMemoryId(), mnemev1.Status_STATUS_SUPERSEDED
	}
	return answer(f, &mnemev1.GetMemoryResponse{Memory: m, Sources: turns()})
}

func (f fake) GetMemoryHistory(_ context.Context,
	req *connect.Request[mnemev1.GetMemoryHistoryRequest]) (*connect.Response[mnemev1.GetMemoryHistoryResponse], error) {
	if f.replaced {
		return answer(f, &mnemev1.GetMemoryHistoryResponse{Versions: []*mnemev1.Memory{{Id: req.Msg.GetMemoryId()}, {
			Id: newID, PredecessorIds: []string{req.Msg.GetMemoryId()}, SourceTurnIds: []string{"t9"},
			Content: "lives in Lisbon\x1b[2J",
		}}})
	}
	return answer(f, &mnemev1.GetMemoryHistoryResponse{Versions: []*mnemev1.Memory{one()}})
}

func (f fake) DeleteMemory(context.Context,
	*connect.Request[mnemev1.DeleteMemoryRequest]) (*connect.Response[mnemev1.DeleteMemoryResponse], error) {
	m := one()
	m.Status = mnemev1.Status_STATUS_RETRACTED
	return answer(f, &mnemev1.DeleteMemoryResponse{Memory: m})
}

func (f fake) ReleaseMemory(context.Context,
	*connect.Request[mnemev1.ReleaseMemoryRequest]) (*connect.Response[mnemev1.ReleaseMemoryResponse], error) {
	return answer(f, &mnemev1.ReleaseMemoryResponse{Memory: one()})
}

func (f fake) GetWorkingMemory(context.Context,
	*connect.Request[mnemev1.GetWorkingMemoryRequest]) (*connect.Response[mnemev1.GetWorkingMemoryResponse], error) {
	if f.empty {
		return answer(f, &mnemev1.GetWorkingMemoryResponse{})
	}
	return answer(f, &mnemev1.GetWorkingMemoryResponse{Turns: turns()})
}

func (f fake) GetCore(
	context.Context, *connect.Request[mnemev1.GetCoreRequest],
) (*connect.Response[mnemev1.GetCoreResponse], error) {
	if f.empty {
		return answer(f, &mnemev1.GetCoreResponse{})
	}
	return answer(f, &mnemev1.GetCoreResponse{Core: &mnemev1.CoreBlock{Content: nasty, Version: 2}})
}

// serve makes a fake listen for the rest of the test.
func serve(t *testing.T, f fake) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(f))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(f))
	mux.Handle(mnemev1connect.NewDiagnosisServiceHandler(f))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if named := r.Header.Get(tenant.Header); named == "globex" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"code":"permission_denied","message":"the API key is not of the tenant that is named"}`))
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"unauthenticated","message":"the API key is not known"}`))
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// noVariables clears the variables of the command line.
func noVariables(t *testing.T) {
	t.Helper()
	for _, name := range []string{"MNEME_URL", "MNEME_API_KEY", "MNEME_KAFKA_BROKERS", "MNEME_TENANT",
		"OTEL_EXPORTER_OTLP_ENDPOINT"} {
		t.Setenv(name, "")
	}
}

// run runs a command line without settings from the environment.
func run(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	noVariables(t)
	if !slices.Contains(args, "--data") {
		args = append([]string{"--data", filepath.Join(t.TempDir(), "nothing")}, args...)
	}
	var o, e bytes.Buffer
	code = cli.Execute(t.Context(), args, &o, &e)
	if strings.Contains(o.String()+e.String(), key) {
		t.Error("the API key was printed")
	}
	return code, o.String(), e.String()
}

func TestExitCodes(t *testing.T) {
	good, stopped := serve(t, fake{}), httptest.NewServer(nil)
	stopped.Close()
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	line := `{"user_id":"ana","session_id":"s1","text":"I live in Porto.","time":"` + atNoon + `"}`
	if err := os.WriteFile(bad, []byte(line+"\n"+`{"user_id":"ana"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tenants.yaml"), []byte("tenants:\n  - id: local\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(addr, key string, args ...string) []string { return append(args, "--url", addr, "--key", key) }
	refusing := serve(t, fake{err: connect.NewError(connect.CodeInvalidArgument, errors.New("query: is empty\x1b[2J"))})
	missing := serve(t, fake{err: connect.NewError(connect.CodeNotFound, errors.New("memory not found"))})
	several := serve(
		t,
		fake{err: connect.NewError(connect.CodeInvalidArgument,
			errors.New("user_id: is not set, but several users have it"))},
	)
	tests := []struct {
		name string
		args []string
		code int
		says string
	}{
		{"help", []string{"--help"}, command.ExitOK, ""},
		{"an unknown command", []string{"remember"}, command.ExitUsage, `"remember"`},
		{"a misspelt command", []string{"recal"}, command.ExitUsage, `no command "recal"; did you mean "recall"?`},
		{"a misspelt command with flags", []string{"recal", "--user", "x"}, command.ExitUsage,
			`no command "recal"; did you mean "recall"?`},
		{"a misspelt command after a flag", []string{"--json", "recal", "--user", "x"}, command.ExitUsage,
			`did you mean "recall"?`},
		{"an unknown flag of no command", []string{"--user", "x"}, command.ExitUsage, "unknown flag: --user"},
		{"a misspelt command of a group with flags", []string{"keys", "lst", "--user", "x"}, command.ExitUsage,
			`no command "lst"; did you mean "list"?`},
		{"an address of others", []string{"up", "--listen", "0.0.0.0:8400"}, command.ExitUsage, "want a loopback address"},
		{"an address without a port", []string{"up", "--listen", "127.0.0.1"}, command.ExitUsage, "want host:port"},
		{"an unknown flag", []string{"recall", "--colour"}, command.ExitUsage, "--colour"},
		{"a flag without its value", []string{"memories", "--user"}, command.ExitUsage, "--user"},
		{"a user that is missing", []string{"memories"}, command.ExitUsage, "--user is missing"},
		{"a query that is missing", []string{"recall", "--user", "ana"}, command.ExitUsage, "--query is missing"},
		{"arguments too many", []string{"memories", "--user", "ana", "more"}, command.ExitUsage, "more"},
		{
			"a query that is no text",
			at(good, key, "recall", "--user", "ana", "--query", "\xff\xfe"),
			command.ExitUsage,
			"--query is not valid UTF-8",
		},
		{"a user that is no text", at(good, key, "memories", "--user", "\xff"), command.ExitUsage,
			"--user is not valid UTF-8"},
		{
			"a turn that is no text",
			at(good, key, "why", "--user", "ana", "--query", "?", "--expect", "t1", "--expect", "\xff"),
			command.ExitUsage,
			"--expect is not valid UTF-8",
		},
		{"words that are no text", at(good, key, "why", "--user", "ana", "--query", "?", "--expect-text", "\xff"),
			command.ExitUsage,
			"--expect-text is not valid UTF-8"},
		{"an id that is no text", at(good, key, "delete", "--user", "ana", "\xff"), command.ExitUsage,
			"ID is not valid UTF-8"},
		{"a tenant that is no text", at(good, key, "memories", "--user", "ana", "--tenant", "\xff"), command.ExitUsage,
			"--tenant is not valid UTF-8"},
		{"a prefix that is no text", at(good, key, "replay", "--prefix", "\xff"), command.ExitUsage,
			"--prefix is not valid UTF-8"},
		{"an unknown tier", at(good, key, "memories", "--user", "ana", "--tier", "memories"), command.ExitUsage, "--tier is"},
		{"states that exclude each other", at(good, key, "memories", "--user", "ana", "--active", "--quarantined"),
			command.ExitUsage,
			"--active and --quarantined"},
		{"an id that is missing", []string{"history", "--user", "ana"}, command.ExitUsage, "1 arg"},
		{"a trace id that is none", []string{"trace", "42"}, command.ExitUsage, "32 hexadecimal digits"},
		{"a policy that is none", []string{"up", "--policy", "magic"}, command.ExitUsage, `"magic"`},
		{"a policy of no version", []string{"up", "--policy", "embedded@"}, command.ExitUsage, `--policy: is "embedded@"`},
		{"a model that is trained here", []string{"up", "--policy", "llm@trained-1"}, command.ExitUsage, "--policy: is"},
		{"a policy of another strategy", []string{"up", "--strategy", "rmm", "--policy", "embedded@trained-1"},
			command.ExitUsage,
			"strategy salimory"},
		{"a version that there is none of", []string{"up", "--policy", "embedded@typo", "--data", t.TempDir()},
			command.ExitUsage,
			"tenant local: policy"},
		{"another strategy than the folder's", []string{"up", "--strategy", "rmm", "--data", folder}, command.ExitUsage,
			filepath.Join(folder, "tenants.yaml")},
		{"another policy than the folder's", []string{"up", "--policy", "llm", "--data", folder}, command.ExitUsage,
			filepath.Join(folder, "tenants.yaml")},
		{"a strategy that is empty", []string{"up", "--strategy", ""}, command.ExitUsage, "--strategy"},
		{"no time to erase", at(good, key, "erase", "--user", "ana", "--yes", "--timeout", "0s"), command.ExitUsage,
			"--timeout is 0s"},
		{
			"less than no time to erase",
			at(good, key, "erase", "--user", "ana", "--yes", "--timeout", "-1s"),
			command.ExitUsage,
			"--timeout is -1s",
		},
		{"records of a tenant that is none", []string{"records", "--tenant", "a/b"}, command.ExitUsage, "tenant"},
		{"a strategy to measure that is none", []string{"eval", "formation", "--data", bad, "--strategy", "salimory,magic"},
			command.ExitUsage,
			`"magic"`},
		{"a mode of the filter that is none", []string{"eval", "formation", "--data", bad, "--saliency", "magic"},
			command.ExitUsage,
			`--saliency is "magic", want one of ["gate" "mark" "off"]`},
		{"a file that is not there", at(good, key, "ingest", "nowhere.jsonl"), command.ExitUsage, "nowhere.jsonl"},
		{"a bad file", at(good, key, "ingest", bad), command.ExitUsage, "line 2"},
		{"no brokers", at(good, key, "replay"), command.ExitUsage, "--brokers"},
		{"what the service refuses", at(refusing, key, "recall", "--user", "ana", "--query", "?"), command.ExitUsage,
			"query: is empty"},
		{"what is not there", at(missing, key, "history", "--user", "ana", memID), command.ExitFailed, "not found"},
		{"an id that several users have", at(several, key, "history", memID), command.ExitUsage, "with --user"},
		{"a user that is refused", at(several, key, "history", "--user", "x", memID), command.ExitUsage, "user_id: is"},
		{"nothing running", []string{"memories", "--user", "ana"}, command.ExitUnreachable, "mneme up"},
		{"nothing listening", at(stopped.URL, key, "memories", "--user", "ana"), command.ExitUnreachable, "is it running?"},
		{
			"no broker listening",
			append(at(good, key, "replay"), "--brokers", strings.TrimPrefix(stopped.URL, "http://")),
			command.ExitUnreachable,
			"kafka",
		},
		{"an unknown key", at(good, "mneme_wrong", "memories", "--user", "ana"), command.ExitUnreachable, "MNEME_API_KEY"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, errOut := run(t, tt.args...)
			if code != tt.code || !strings.Contains(errOut, tt.says) {
				t.Errorf("exit code %d, want %d; says %q, want %q", code, tt.code, errOut, tt.says)
			}
			if i := strings.IndexFunc(errOut, control); i >= 0 || strings.Contains(errOut, "mneme_wrong") {
				t.Errorf("says %q", errOut)
			}
		})
	}
}

// control reports whether a terminal obeys a character instead of showing it.
func control(r rune) bool { return r != '\n' && (r < ' ' || (r >= 0x7f && r < 0xa0)) }

var commands = map[string][]string{
	"recall":   {"recall", "--user", "ana", "--query", "Where?"},
	"answer":   {"recall", "--user", "ana", "--query", "Where?", "--answer"},
	"why":      {"why", "--user", "ana", "--query", "Where?", "--expect", "t1\x1b[0m", "--expect-text", "Porto"},
	"memories": {"memories", "--user", "ana"}, "history": {"history", "--user", "ana", memID},
	"delete":      {"delete", "--user", "ana", memID},
	"quarantined": {"memories", "--user", "ana", "--quarantined"}, "release": {"release", "--user", "ana", memID},
}

func TestUsersTextNeverCommandsTheTerminal(t *testing.T) {
	addr := serve(t, fake{})
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := run(t, append(slices.Clone(args), "--url", addr, "--key", key)...)
			if code != command.ExitOK || strings.ContainsFunc(out+errOut, control) {
				t.Errorf("exit code %d, printed %q, %q", code, out, errOut)
			}
			if name != "delete" && name != "release" && !strings.Contains(out, "Porto") {
				t.Errorf("the text itself is missing: %q", out)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	addr := serve(t, fake{})
	fields := map[string][]string{
		"recall": {"cited", "degraded", "profile", "recall_id", "sections", "trace_id", "latency_ms", "weights_version",
			"searched"},
		"answer":   {"abstained", "answer", "cited_ids", "cost", "recall"},
		"why":      {"answer", "candidates", "core", "findings", "stage"},
		"memories": {"core", "memories", "user", "window"}, "history": {"sources", "user", "versions"}, "delete": {"memory"},
		"quarantined": {"memories", "user"}, "release": {"memory"},
	}
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := run(t, append(slices.Clone(args), "--url", addr, "--key", key, "--json")...)
			var got map[string]json.RawMessage
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != command.ExitOK || errOut != "" {
				t.Fatalf("exit code %d, %v, %q", code, err, errOut)
			}
			for _, f := range fields[name] {
				if _, ok := got[f]; !ok {
					t.Errorf("there is no %s in %s", f, out)
				}
			}
			if len(got) != len(fields[name]) || strings.Contains(out, "STATUS_") || strings.Contains(out, "KIND_") {
				t.Errorf("got %s", out)
			}
		})
	}
	_, out, _ := run(t, "memories", "--user", "ana", "--url", addr, "--key", key, "--json")
	var listed struct {
		Memories []struct {
			Content, Kind, Status, Speaker string
			ValidFrom                      time.Time `json:"valid_from"`
		}
		Window []struct{ Text, Role string }
	}
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Memories) != 2 || len(listed.Window) != 1 {
		t.Fatalf("want both pages and the window: %v, %s", err, out)
	}
	if m := listed.Memories[0]; m.Content != nasty || m.Kind != "fact" || m.Status != "active" || m.Speaker == "" ||
		m.ValidFrom.IsZero() || listed.Window[0].Role != "user" {
		t.Errorf("got %+v, %+v", m, listed.Window)
	}
}

func TestQuarantinedMemoriesAreShownWithTheirReason(t *testing.T) {
	addr := serve(t, fake{})
	for flag, want := range map[string]bool{"--quarantined": true, "--active": false} {
		code, out, errOut := run(t, "memories", "--user", "ana", flag, "--url", addr, "--key", key)
		if code != command.ExitOK || strings.Contains(out, "quarantined:") != want ||
			strings.Contains(out, "working memory") == want ||
			strings.Contains(out, "core") == want {
			t.Errorf("%s: exit code %d, %q, %q", flag, code, out, errOut)
		}
	}
	if code, out, errOut := run(t, "release", "--user", "ana", memID, "--url", addr, "--key",
		key); code != command.ExitOK ||
		strings.TrimSpace(out) != memID+" is active" {
		t.Errorf("release: exit code %d, %q, %q", code, out, errOut)
	}
}

func TestMemoriesAreListedByAFilter(t *testing.T) {
	addr := serve(t, fake{})
	code, out, errOut := run(
		t,
		"memories",
		"--user",
		"ana",
		"--filter",
		`{"field":"metadata.colour","equals":"red"}`,
		"--url",
		addr,
		"--key",
		key,
	)
	if code != command.ExitOK || !strings.Contains(out, "metadata.colour is red") ||
		strings.Contains(out, "working memory") {
		t.Errorf("exit code %d, %q, %q", code, out, errOut)
	}
	for _, given := range [][]string{{"memories", "--user", "ana"}, {"recall", "--user", "ana", "--query", "tea"}} {
		code, _, errOut := run(t, append(given, "--filter", `{"field":"colour","equals":"red"}`, "--url", addr, "--key",
			key)...)
		if code != command.ExitUsage || !strings.Contains(errOut, "--filter.field: is not a field") {
			t.Errorf("%v: exit code %d, %q", given, code, errOut)
		}
	}
}

func TestMemoriesAreShownWithWhoSaidThemWhen(t *testing.T) {
	code, out, errOut := run(t, "memories", "--user", "ana", "--quarantined", "--url", serve(t, fake{}), "--key", key)
	for _, want := range []string{"SPEAKER", "EVENT", "STATUS", "version 2", "SOURCE", memID, "Ana", "2026-04-09",
		"2026-03"} {
		if code != command.ExitOK || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %s: there is no %s in %s", code, errOut, want, out)
		}
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	addr := serve(t, fake{replaced: true})
	for name, args := range commands {
		_, out, _ := run(t, append(slices.Clone(args), "--url", addr, "--key", key)...)
		for line := range strings.Lines(out) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); strings.ContainsAny(line, "│┌├└") && n > 100 {
				t.Errorf("%s: a line has %d characters:\n%s", name, n, out)
				break
			}
		}
	}
	_, out, _ := run(t, "why", "--user", "ana", "--query", "Where?", "--url", addr, "--key", key)
	if strings.Contains(out, "EXPLORED") || !strings.Contains(out, "SHOWN") {
		t.Errorf("want no column without values:\n%s", out)
	}
}

func TestNothingIsKeptOfAnUnknownUser(t *testing.T) {
	addr := serve(t, fake{empty: true})
	for name, args := range map[string][]string{
		"recall": {"recall", "--query", "Where?"}, "answer": {"recall", "--query", "Where?", "--answer"},
		"why":      {"why", "--query", "Where?"},
		"memories": {"memories"}, "active": {"memories", "--active"}, "quarantined": {"memories", "--quarantined"},
	} {
		code, out, errOut := run(t, append(args, "--user", "no\x1b[2Jbody", "--url", addr, "--key", key)...)
		if code != command.ExitOK || !strings.Contains(out, "nothing is kept of user no [2Jbody") {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, errOut)
		}
	}
	if _, out, _ := run(t, "recall", "--query", "?", "--user", "ana", "--url", serve(t, fake{}), "--key",
		key); strings.Contains(out, "is kept") {
		t.Errorf("a known user: %q", out)
	}
}

// The help texts have plain sentences. Clauses such as "what is kept" and words such as "whose" hide the subject.
func TestTheHelpIsInPlainEnglish(t *testing.T) {
	hidden := regexp.MustCompile(`(?i)\b(whose|nobody|anew|of which|what (is|was|it|they|has|had|a|that|others|models)|is there|good for)\b`)
	for _, name := range []string{
		"ingest", "memories", "history", "delete", "release", "export", "import", "recall", "why", "erase", "erasures",
		"usage",
		"tenants create", "tenants change", "tenants suspend", "tenants resume", "tenants list", "keys create", "keys list",
		"keys revoke",
		"replay", "migrate", "records", "reranker versions", "reranker rollback", "check model", "check gateway",
		"eval formation",
		"eval recall", "mcp", "status", "trace", "version",
	} {
		code, out, _ := run(t, append(strings.Fields(name), "--help")...)
		if code != command.ExitOK || hidden.MatchString(out) {
			t.Errorf("%s: %q in\n%s", name, hidden.FindString(out), out)
		}
	}
}

func TestDeleteSaysWhatStays(t *testing.T) {
	_, out, _ := run(t, "delete", "--user", "ana", memID, "--url", serve(t, fake{}), "--key", key)
	for _, want := range []string{memID + " is retracted\n", "stays in the history", "mneme erase --user ana"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
}

func TestUnknownVariablesAreWarnedOfOnce(t *testing.T) {
	t.Setenv("MNEME_API_KYE", "hunter2")
	t.Setenv("MNEME_NO_SUCH_THING", "hunter2")
	t.Setenv("MNEME_TRAINER_KEY", "of the laboratory's mneme-lab trainer")
	t.Setenv("MNEME_TRAINER_URL", "http://127.0.0.1:8420")
	_, _, errOut := run(t, "memories", "--user", "ana", "--url", serve(t, fake{}), "--key", key)
	for _, want := range []string{
		"mneme: warning: the variable MNEME_API_KYE is not a setting of Mneme; did you mean MNEME_API_KEY?\n",
		"mneme: warning: the variable MNEME_NO_SUCH_THING is not a setting of Mneme\n",
	} {
		if strings.Count(errOut, want) != 1 || strings.Contains(errOut, "hunter2") || strings.Contains(errOut, "TRAINER") {
			t.Errorf("%q lacks %q", errOut, want)
		}
	}
}

func TestOneVariableNamesTheGateway(t *testing.T) {
	for name, serve := range map[string]func() (addr string, args []string){
		"utilizer": func() (string, []string) { return serve(t, fake{}), []string{"memories", "--user", "ana"} },
		"reranker": func() (string, []string) { return serveReranker(t), []string{"reranker", "versions"} },
		"usage":    func() (string, []string) { return serveUsage(t), []string{"usage"} },
	} {
		addr, args := serve()
		noVariables(t)
		t.Setenv("MNEME_URL", addr+"/")
		t.Setenv("MNEME_API_KEY", key)
		var out, errOut bytes.Buffer
		if code := cli.Execute(t.Context(), append(args, "--data", t.TempDir()), &out, &errOut); code != command.ExitOK {
			t.Errorf("%s: exit code %d, %q", name, code, errOut.String())
		}
	}
}

// A URL of the local gateway does not hide the rest of the local Mneme, such as its brokers and traces.
func TestTheURLOfTheLocalGatewayNamesTheLocalMneme(t *testing.T) {
	dir := t.TempDir()
	traces := httptest.NewServer(http.NotFoundHandler())
	defer traces.Close()
	content, err := json.Marshal(standalone.Connection{
		Gateway: "http://127.0.0.1:1", Utilizer: "http://127.0.0.1:1", APIKey: key, Tenant: "local", Traces: traces.URL,
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "connection.json"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for url, says := range map[string]string{"http://127.0.0.1:1": "is not stored",
		"http://127.0.0.1:2": "only a local Mneme"} {
		_, _, errOut := run(t, "trace", strings.Repeat("a", 32), "--data", dir, "--url", url, "--key", key)
		if !strings.Contains(errOut, says) {
			t.Errorf("%s: says %q, want %q", url, errOut, says)
		}
	}
}

func TestTheLocalMnemeIsFoundInItsFolder(t *testing.T) {
	dir := t.TempDir()
	content, err := json.Marshal(standalone.Connection{Utilizer: serve(t, fake{}), APIKey: key, Tenant: "local"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "connection.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := run(t, "memories", "--user", "ana", "--data", dir); code != command.ExitOK ||
		!strings.Contains(out, "Porto") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	if code, _, errOut := run(t, "memories", "--user", "ana", "--data", dir, "--tenant",
		"acme"); code != command.ExitUsage ||
		!strings.Contains(errOut, "--key") {
		t.Errorf("another tenant without its key: exit code %d, %q", code, errOut)
	}
	code, _, errOut := run(t, "trace", strings.Repeat("a", 32), "--data", dir)
	if code != command.ExitUsage || !strings.Contains(errOut, "local Mneme") {
		t.Errorf("without trace viewer: exit code %d, %q", code, errOut)
	}
}

func TestAnotherTenantOfTheLocalMnemeIsServedWithItsKey(t *testing.T) {
	dir := t.TempDir()
	content, err := json.Marshal(standalone.Connection{Utilizer: serve(t, fake{}), APIKey: "mneme_of_local",
		Tenant: "local"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "connection.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, "memories", "--user", "ana", "--data", dir, "--tenant", "acme", "--key", key)
	if code != command.ExitOK || !strings.Contains(out, "Porto") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	if code, out, errOut := run(t, "memories", "--user", "ana", "--data", dir, "--key", key); code != command.ExitOK {
		t.Errorf("a key of a tenant that is not named: exit code %d, %q, %q", code, out, errOut)
	}
	code, out, errOut = run(t, "memories", "--user", "ana", "--data", dir, "--tenant", "globex", "--key", key)
	if code != command.ExitFailed || out != "" || !strings.Contains(errOut, "not of the tenant") {
		t.Errorf("a key of another tenant than is named: exit code %d, %q, %q", code, out, errOut)
	}
	t.Setenv("MNEME_API_KEY", "mneme_of_local")
	for _, args := range [][]string{{"erase", "--user", "ana", "--yes"}, {"memories", "--user", "ana"}} {
		code, out, errOut := run(t, append(args, "--data", dir, "--tenant", "acme")...)
		if code != command.ExitUsage || out != "" || !strings.Contains(errOut, `"local"`) {
			t.Errorf("%s with the key of another tenant: exit code %d, %q, %q", args[0], code, out, errOut)
		}
	}
}

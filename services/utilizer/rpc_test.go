package utilizer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

const acmeKey, betaKey = "KEY-of-acme", "KEY-of-beta"

// outbox keeps the published messages.
type outbox struct {
	mu   sync.Mutex
	msgs []bus.Message
	err  error
}

func (o *outbox) Publish(_ context.Context, msgs ...bus.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.msgs = append(o.msgs, msgs...)
	}
	return o.err
}

func (o *outbox) Close() error { return nil }

// writer accepts requests to retract and runs a test's function for them.
type writer struct {
	mu       sync.Mutex
	requests []consolidation.Retraction
	params   []consolidation.Params
	then     func(context.Context, consolidation.Retraction) error
	edits    []consolidation.Edit
	edit     func(context.Context, consolidation.Edit) error
	err      error
	// waiting is the session with waiting turns. A question about it that must not be answered blocks.
	waiting string
	silent  bool
}

func (w *writer) Waits(ctx context.Context, scope memory.Scope, sessionID string) (bool, error) {
	if w.silent {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return scope == ana && sessionID == w.waiting, w.err
}

func (w *writer) Retract(ctx context.Context, p consolidation.Params, in consolidation.Retraction) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.params = append(w.requests, in), append(w.params, p)
	if w.then != nil && w.err == nil {
		return w.then(ctx, in)
	}
	return w.err
}

func (w *writer) Edit(ctx context.Context, p consolidation.Params, in consolidation.Edit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.edits, w.params = append(w.edits, in), append(w.params, p)
	if w.edit != nil && w.err == nil {
		return w.edit(ctx, in)
	}
	return w.err
}

// fixture is a utilizer with its API.
type fixture struct {
	*utilizer.Recaller
	out    *outbox
	writer *writer
	web    *httptest.Server
	log    *bytes.Buffer

	mu    sync.Mutex
	fared []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	tenants, err := tenant.Static(
		tenant.Entry{Tenant: tenant.Tenant{ID: "acme"}, APIKeys: []string{tenant.HashKey(acmeKey)}},
		tenant.Entry{Tenant: tenant.Tenant{ID: "beta"}, APIKeys: []string{tenant.HashKey(betaKey)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	r := &fixture{Recaller: newRecaller(t), out: &outbox{}, writer: &writer{}, log: &bytes.Buffer{}}
	r.web = httptest.NewServer(utilizer.Handler(r.Recaller, r.out, r.writer, r.noteFared,
		slog.New(slog.NewTextHandler(r.log, nil)), tenants))
	t.Cleanup(r.web.Close)
	return r
}

type clients struct {
	mnemev1connect.UtilizerServiceClient
	mnemev1connect.MemoryServiceClient
}

// as returns the clients of a tenant. An empty key sends none.
func (r *fixture) as(key string) clients {
	o := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			if key != "" {
				req.Header().Set("Authorization", "Bearer "+key)
			}
			return next(ctx, req)
		}
	}))
	return clients{mnemev1connect.NewUtilizerServiceClient(r.web.Client(), r.web.URL, o),
		mnemev1connect.NewMemoryServiceClient(r.web.Client(), r.web.URL, o)}
}

func ask[T any](msg *T) *connect.Request[T] { return connect.NewRequest(msg) }

// calls returns a valid call of every RPC for a user. change can modify the request first.
func calls(c clients, id string) map[string]func(context.Context, func(proto.Message)) error {
	out := map[string]func(context.Context, func(proto.Message)) error{}
	add(out, "Recall", &mnemev1.RecallRequest{UserId: "ana", Query: "Where does Ana live?"}, c.Recall)
	add(out, "Answer", &mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana",
		Query: "Where does Ana live?"}}, c.Answer)
	add(out, "ReportCitations", &mnemev1.ReportCitationsRequest{UserId: "ana", RecallId: "r1",
		ShownIds: []string{"a", "b"},
		CitedIds: []string{"b"}}, c.ReportCitations)
	add(out, "ListMemories", &mnemev1.ListMemoriesRequest{UserId: "ana"}, c.ListMemories)
	add(out, "GetMemory", &mnemev1.GetMemoryRequest{UserId: "ana", MemoryId: id}, c.GetMemory)
	add(out, "GetMemoryHistory", &mnemev1.GetMemoryHistoryRequest{UserId: "ana", MemoryId: id}, c.GetMemoryHistory)
	add(out, "GetWorkingMemory", &mnemev1.GetWorkingMemoryRequest{UserId: "ana"}, c.GetWorkingMemory)
	add(out, "GetSession", &mnemev1.GetSessionRequest{UserId: "ana", SessionId: "s1"}, c.GetSession)
	add(out, "DeleteMemory", &mnemev1.DeleteMemoryRequest{UserId: "ana", MemoryId: id}, c.DeleteMemory)
	add(out, "ReleaseMemory", &mnemev1.ReleaseMemoryRequest{UserId: "ana", MemoryId: id}, c.ReleaseMemory)
	return out
}

func add[I, O any](to map[string]func(context.Context, func(proto.Message)) error, name string, req *I,
	call func(context.Context, *connect.Request[I]) (*connect.Response[O], error),
) {
	to[name] = func(ctx context.Context, change func(proto.Message)) error {
		if m, ok := any(req).(proto.Message); ok && change != nil {
			change(m)
		}
		_, err := call(ctx, connect.NewRequest(req))
		return err
	}
}

func someID() string { return memory.DeriveID(ana, []string{"t1"}, 0) }

// talkOf returns a conversation of one message.
func talkOf(role, content string) []*mnemev1.Message {
	return []*mnemev1.Message{{Role: role, Content: content}}
}

// set sets a field of a message by name.
func set(field string, value any) func(proto.Message) {
	return func(m proto.Message) {
		if a, ok := m.(*mnemev1.AnswerRequest); ok && field != "recall" {
			m = a.GetRecall()
		}
		elem := reflect.ValueOf(m).Elem().FieldByName(field)
		elem.Set(reflect.ValueOf(value).Convert(elem.Type()))
	}
}

func TestRequestsThatCannotBeMeantAreRefusedByField(t *testing.T) {
	r := newFixture(t)
	long := func(n int) string { return strings.Repeat("x", n+1) }
	everywhere := []string{"Recall", "Answer", "ReportCitations", "ListMemories", "GetMemory", "GetMemoryHistory",
		"GetWorkingMemory",
		"GetSession", "DeleteMemory", "ReleaseMemory"}
	owned := slices.DeleteFunc(
		slices.Clone(everywhere),
		func(rpc string) bool { return rpc == "GetMemoryHistory" },
	) // it looks up the user
	recalls, entries := []string{"Recall", "Answer"},
		[]string{"GetMemory", "GetMemoryHistory", "DeleteMemory", "ReleaseMemory"}
	report, list := []string{"ReportCitations"}, []string{"ListMemories"}
	tests := []struct {
		name   string
		rpcs   []string
		field  string
		change func(proto.Message)
	}{
		{"no user", owned, "user_id", set("UserId", "")},
		{"a user of white space", everywhere, "user_id", set("UserId", " \t")},
		{"a user that is too long", everywhere, "user_id", set("UserId", long(memory.MaxUserBytes))},
		{"a user with a NUL", everywhere, "user_id", set("UserId", "a\x00b")},
		{"no query", recalls, "query", set("Query", "")},
		// the year 1, Go's zero
		{"a time before all", recalls, "as_of", set("AsOf", &timestamppb.Timestamp{Seconds: -62135596800})},
		{"a query that is too long", recalls, "query", set("Query", long(memory.MaxQueryBytes))},
		{"too many candidates", recalls, "candidates", set("Candidates", 201)},
		{"too many memories", recalls, "memories", set("Memories", 101)},
		{"more memories than candidates", recalls, "memories", func(m proto.Message) {
			set("Candidates", 20)(m)
			set("Memories", 21)(m)
		}},
		{"a budget of a few words", recalls, "word_budget", set("WordBudget", 19)},
		{"a budget without end", recalls, "word_budget", set("WordBudget", 10_001)},
		{"nothing to recall", []string{"Answer"}, "recall", func(m proto.Message) {
			m.(*mnemev1.AnswerRequest).Recall = nil
		}},
		{"too many messages", recalls, "messages",
			set("Messages", slices.Repeat(talkOf("user", "Hello."), memory.MaxMessages+1))},
		{"a message of nobody", recalls, "messages[1].role",
			set("Messages", append(talkOf("user", "Hello."), talkOf("", "Hello.")...))},
		{"an instruction", recalls, "messages[0].role", set("Messages", talkOf("system", "Be kind."))},
		{"a message that is missing", recalls, "messages[0].role", set("Messages", []*mnemev1.Message{nil})},
		{"a message of nothing", recalls, "messages[0].content", set("Messages", talkOf("assistant", " \n"))},
		{"a message that is too long", recalls, "messages[0].content",
			set("Messages", talkOf("tool", long(memory.MaxMessageBytes)))},
		{"a message with a NUL", recalls, "messages[0].content", set("Messages", talkOf("user", "a\x00b"))},
		{"no recall id", report, "recall_id", set("RecallId", "")},
		{"a recall id that is too long", report, "recall_id", set("RecallId", long(memory.MaxIDBytes))},
		{"nothing shown", report, "shown_ids", func(m proto.Message) {
			m.(*mnemev1.ReportCitationsRequest).ShownIds, m.(*mnemev1.ReportCitationsRequest).CitedIds = nil, nil
		}},
		{"too much shown", report, "shown_ids", set("ShownIds", make([]string, contract.MaxShown+1))},
		{"shown twice", report, "shown_ids", set("ShownIds", []string{"b", "b"})},
		{"cited but not shown", report, "cited_ids", set("CitedIds", []string{"c"})},
		{"cited twice", report, "cited_ids", set("CitedIds", []string{"b", "b"})},
		{"too large a page", list, "page_size", set("PageSize", 1001)},
		{"an unknown status", list, "statuses", set("Statuses", []mnemev1.Status{99})},
		{"a status that is not said", list, "statuses", set("Statuses", []mnemev1.Status{0})},
		{"a token of nobody", list, "page_token", set("PageToken", "!")},
		{"no id", entries, "memory_id", set("MemoryId", "")},
		{"an id that is none", entries, "memory_id", set("MemoryId", "42")},
		{"an id in braces", entries, "memory_id", set("MemoryId", "{"+someID()+"}")},
		{"no session", []string{"GetSession"}, "session_id", set("SessionId", "")},
		{"a session that is too long", []string{"GetSession"}, "session_id", set("SessionId", long(memory.MaxIDBytes))},
	}
	for _, tt := range tests {
		for _, rpc := range tt.rpcs {
			t.Run(rpc+"/"+tt.name, func(t *testing.T) {
				err := calls(r.as(acmeKey), someID())[rpc](t.Context(), tt.change)
				if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), ": "+tt.field+": ") {
					t.Errorf("got %v, want an invalid argument that names %s", err, tt.field)
				}
			})
		}
	}
	if len(r.out.msgs)+len(r.writer.requests) != 0 {
		t.Errorf("refused requests had effects: %v, %v", r.out.msgs, r.writer.requests)
	}
	if r.log.Len() != 0 {
		t.Errorf("callers' mistakes were logged as ours:\n%s", r.log)
	}
}

func TestTheTenantIsThatOfTheCredential(t *testing.T) {
	r := newFixture(t)
	for name := range calls(r.as(""), "") {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"", "KEY-of-nobody"} {
				if err := calls(r.as(key), someID())[name](t.Context(), nil); connect.CodeOf(err) != connect.CodeUnauthenticated {
					t.Errorf("with key %q: %v", key, err)
				}
			}
		})
	}
	for _, name := range []string{"GetMemory", "GetMemoryHistory", "DeleteMemory", "ReleaseMemory"} {
		if err := calls(r.as(betaKey), someID())[name](t.Context(), nil); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%s of another tenant's entry: %v", name, err)
		}
	}
	list, err := r.as(betaKey).ListMemories(t.Context(), ask(&mnemev1.ListMemoriesRequest{UserId: "ana"}))
	if err != nil || len(list.Msg.GetMemories()) != 0 {
		t.Errorf("another tenant lists %v, %v", list, err)
	}
	for key, some := range map[string]bool{acmeKey: true, betaKey: false} {
		n, err := r.as(key).CountMemories(t.Context(), ask(&mnemev1.CountMemoriesRequest{}))
		if err != nil || (n.Msg.GetMemories() > 0) != some {
			t.Errorf("%s counts %v, %v", key, n, err)
		}
	}
	_, err = r.as("").CountMemories(t.Context(), ask(&mnemev1.CountMemoriesRequest{}))
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("nobody counts: %v", err)
	}
	if _, err := r.as(betaKey).ReportCitations(t.Context(),
		ask(&mnemev1.ReportCitationsRequest{UserId: "ana", RecallId: "r1", ShownIds: []string{"a"}})); err != nil {
		t.Fatal(err)
	}
	if got := string(r.out.msgs[0].Key); got != "beta/ana" {
		t.Errorf("feedback goes to %s", got)
	}
}

func TestReads(t *testing.T) {
	r := newFixture(t)
	c := r.as(acmeKey)
	var listed []string
	for token, pages := "", 0; pages == 0 || token != ""; pages++ {
		page, err := c.ListMemories(t.Context(), ask(&mnemev1.ListMemoriesRequest{
			UserId: "ana", PageSize: 3, PageToken: token, Statuses: []mnemev1.Status{mnemev1.Status_STATUS_ACTIVE},
			WithTotal: pages == 0,
		}))
		if err != nil {
			t.Fatal(err)
		}
		if want := uint64(len(facts)); pages == 0 && page.Msg.GetTotal() != want || pages > 0 && page.Msg.GetTotal() != 0 {
			t.Errorf("page %d says that there are %d, want %d on the first alone", pages, page.Msg.GetTotal(), want)
		}
		for _, m := range page.Msg.GetMemories() {
			listed = append(listed, m.GetId())
		}
		token = page.Msg.GetNextPageToken()
	}
	if len(listed) != len(facts) {
		t.Errorf("%d memories in all pages, want %d", len(listed), len(facts))
	}
	one, err := c.GetMemory(t.Context(), ask(&mnemev1.GetMemoryRequest{UserId: "ana", MemoryId: someID()}))
	if err != nil || one.Msg.GetMemory().GetContent() != facts[0] || len(one.Msg.GetSources()) != 1 ||
		one.Msg.GetSources()[0].GetText() != "I live in Porto." {
		t.Errorf("got %v, %v", one, err)
	}
	history, err := c.GetMemoryHistory(t.Context(),
		ask(&mnemev1.GetMemoryHistoryRequest{UserId: "ana", MemoryId: someID()}))
	if err != nil || len(history.Msg.GetVersions()) != 1 {
		t.Errorf("got %v, %v", history, err)
	}
	for key, want := range map[string]connect.Code{acmeKey: 0, betaKey: connect.CodeNotFound} {
		_, err := r.as(key).GetMemoryHistory(t.Context(), ask(&mnemev1.GetMemoryHistoryRequest{MemoryId: someID()}))
		if (err == nil) != (want == 0) || (err != nil && connect.CodeOf(err) != want) {
			t.Errorf("without the user, %s is given %v", key, err)
		}
	}
	win, err := c.GetWorkingMemory(t.Context(), ask(&mnemev1.GetWorkingMemoryRequest{UserId: "ana"}))
	if err != nil || len(win.Msg.GetTurns()) != 1 || win.Msg.GetTurns()[0].GetTurnId() != "t9" {
		t.Errorf("got %v, %v", win, err)
	}
}

func TestAnEntryThatSeveralUsersHaveNeedsTheUser(t *testing.T) {
	r := newFixture(t)
	m, err := r.Bank.Get(t.Context(), ana, someID())
	if err != nil {
		t.Fatal(err)
	}
	m.Vector = make(memory.Vector, builtin.Dimension)
	m.Vector[0] = 1
	if err := r.Bank.Write(t.Context(), memory.Scope{Tenant: ana.Tenant, User: "another"},
		memory.Write{Put: []memory.Memory{m}}); err != nil {
		t.Fatal(err)
	}
	_, err = r.as(acmeKey).GetMemoryHistory(t.Context(), ask(&mnemev1.GetMemoryHistoryRequest{MemoryId: m.ID}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument ||
		!strings.Contains(err.Error(), "user_id: is not set, but several users") ||
		strings.Contains(err.Error(), "another") {
		t.Errorf("without the user: %v", err)
	}
	res, err := r.as(acmeKey).GetMemoryHistory(t.Context(),
		ask(&mnemev1.GetMemoryHistoryRequest{UserId: "another", MemoryId: m.ID}))
	if err != nil || res.Msg.GetUserId() != "another" || len(res.Msg.GetVersions()) != 1 {
		t.Errorf("with the user: %v, %v", res, err)
	}
}

func TestSessions(t *testing.T) {
	open := &memory.SessionRecord{SessionID: "s1", FormedAt: now, Turns: 3, Operations: 2}
	ended := &memory.SessionRecord{SessionID: "s1", FormedAt: now, Turns: 3, Operations: 2, Closed: true}
	tests := []struct {
		name    string
		record  *memory.SessionRecord
		waiting string
		state   mnemev1.FormationState
		turns   uint32
	}{
		{"nothing is formed yet", nil, "", mnemev1.FormationState_FORMATION_STATE_PENDING, 0},
		{"an open session is pending, whatever is formed", open, "", mnemev1.FormationState_FORMATION_STATE_PENDING, 3},
		{"a closed one is formed", ended, "", mnemev1.FormationState_FORMATION_STATE_FORMED, 3},
		{"a closed one of which late turns wait is pending", ended, "s1", mnemev1.FormationState_FORMATION_STATE_PENDING, 3},
		{"turns of another session do not count", ended, "s2", mnemev1.FormationState_FORMATION_STATE_FORMED, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newFixture(t)
			r.writer.waiting, r.Window = tt.waiting, nil // working memory may be unavailable
			if err := r.Bank.Write(t.Context(), ana, memory.Write{Session: tt.record}); err != nil {
				t.Fatal(err)
			}
			got, err := r.as(acmeKey).GetSession(t.Context(), ask(&mnemev1.GetSessionRequest{UserId: "ana", SessionId: "s1"}))
			if err != nil || got.Msg.GetState() != tt.state || got.Msg.GetTurns() != tt.turns ||
				(got.Msg.GetFormedAt() != nil) != (tt.record != nil) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// The state of a session is never guessed: if the writer fails or times out, the call returns a retryable error.
func TestASessionOfAWriterThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, w := range map[string]*writer{
			"nobody there": {err: fmt.Errorf("10.1.2.3:7233: %w", syscall.ECONNREFUSED)}, "nobody works": {silent: true},
		} {
			r := newRecaller(t)
			ended := memory.SessionRecord{SessionID: "s1", FormedAt: now, Turns: 3, Operations: 2, Closed: true}
			if err := r.Bank.Write(t.Context(), ana, memory.Write{Session: &ended}); err != nil {
				t.Fatal(err)
			}
			server := utilizer.NewMemoryServer(r, w, slog.New(slog.DiscardHandler))
			got, err := server.GetSession(
				tenant.NewContext(t.Context(), acme),
				ask(&mnemev1.GetSessionRequest{UserId: "ana", SessionId: "s1"}),
			)
			if connect.CodeOf(err) != connect.CodeUnavailable {
				t.Errorf("%s: got %v, %v", name, got, err)
			}
		}
	})
}

func TestARecallIsToldInTextAndParts(t *testing.T) {
	r := newFixture(t)
	got, err := r.as(acmeKey).Recall(t.Context(),
		ask(&mnemev1.RecallRequest{UserId: "ana", Query: "Where does Ana live?", Memories: 2}))
	if err != nil {
		t.Fatal(err)
	}
	m := got.Msg
	for _, s := range m.GetSections() {
		for _, line := range s.GetLines() {
			if !strings.Contains(m.GetProfile(), s.GetName()+":\n") || !strings.Contains(m.GetProfile(), "- "+line+"\n") {
				t.Errorf("the text leaves out %s: %q", s.GetName(), line)
			}
		}
	}
	if len(m.GetCited()) != 2 || m.GetCited()[0].GetIndex() != 1 || m.GetCited()[0].GetScore() == 0 ||
		m.GetRecallId() == "" ||
		len(m.GetTraceId()) != 32 {
		t.Errorf("got %v", m)
	}
	if len(r.out.msgs) != 0 {
		t.Error("a recall alone is no feedback")
	}
}

// noteFared records the recall of each report, and the numbers of shown and cited memories.
func (r *fixture) noteFared(_ context.Context, _ memory.Scope, recallID string, shown, cited []string, byCaller bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fared = append(r.fared, fmt.Sprintf("%s: %d shown, %d cited, %t", recallID, len(shown), len(cited), byCaller))
}

// A report about a recall carries its id, so that it counts once.
func TestHowMemoriesFaredIsToldOfTheirRecall(t *testing.T) {
	r := newFixture(t)
	c := r.as(acmeKey)
	recall, err := c.Recall(t.Context(), ask(&mnemev1.RecallRequest{UserId: "ana", Query: "Where does Ana live?"}))
	if err != nil {
		t.Fatal(err)
	}
	id, shown := recall.Msg.GetRecallId(), len(recall.Msg.GetCited())
	report := &mnemev1.ReportCitationsRequest{UserId: "ana", RecallId: id, ShownIds: []string{"a", "b"},
		CitedIds: []string{"b"}}
	if _, err := c.ReportCitations(t.Context(), ask(report)); err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("%s: %d shown, 0 cited, false", id, shown), id + ": 2 shown, 1 cited, true"}
	if shown == 0 || !slices.Equal(r.fared, want) {
		t.Errorf("told %q, want %q", r.fared, want)
	}
}

// Ids are UUIDs, and upper-case digits have the same meaning.
func TestIDsMayBeInUpperCase(t *testing.T) {
	r := newFixture(t)
	upper := strings.ToUpper(someID())
	all := calls(r.as(acmeKey), upper)
	for _, name := range []string{"GetMemory", "GetMemoryHistory", "ReleaseMemory", "DeleteMemory"} {
		if err := all[name](t.Context(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.as(acmeKey).GetMemoryHistory(t.Context(),
		ask(&mnemev1.GetMemoryHistoryRequest{MemoryId: upper})); err != nil {
		t.Errorf("without the user: %v", err)
	}
	report := &mnemev1.ReportCitationsRequest{UserId: "ana", RecallId: upper, ShownIds: []string{upper, "B"},
		CitedIds: []string{upper}}
	if _, err := r.as(acmeKey).ReportCitations(t.Context(), ask(report)); err != nil {
		t.Fatal(err)
	}
	got, err := contract.DecodeFeedback(r.out.msgs[0].Key, r.out.msgs[0].Value, now)
	if err != nil || got.RecallID != someID() || !slices.Equal(got.Shown, []string{someID(), "B"}) ||
		!slices.Equal(got.Cited, []string{someID()}) {
		t.Errorf("reported %+v, %v", got, err)
	}
}

func TestCitationsBecomeFeedback(t *testing.T) {
	r := newFixture(t)
	c := r.as(acmeKey)
	answer, err := c.Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana",
		Query: "Where does Ana live?"}}))
	if err != nil {
		t.Fatal(err)
	}
	report := &mnemev1.ReportCitationsRequest{UserId: "ana", RecallId: "r1", ShownIds: []string{"a", "b"},
		CitedIds: []string{"b"}}
	if _, err := c.ReportCitations(t.Context(), ask(report)); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, cited := range answer.Msg.GetRecall().GetCited() {
		shown = append(shown, cited.GetMemory().GetId())
	}
	want := []contract.Feedback{
		{RecallID: answer.Msg.GetRecall().GetRecallId(), Shown: shown, Cited: answer.Msg.GetCitedIds(),
			Source: contract.CitationEmbedded},
		{RecallID: "r1", Shown: []string{"a", "b"}, Cited: []string{"b"}, Source: contract.CitationCaller},
	}
	if len(answer.Msg.GetCitedIds()) == 0 || len(r.out.msgs) != len(want) {
		t.Fatalf("the answer %v became %d records", answer.Msg, len(r.out.msgs))
	}
	for i, m := range r.out.msgs {
		got, err := contract.DecodeFeedback(m.Key, m.Value, now)
		want[i].Envelope, want[i].Time = contract.Envelope{EventID: want[i].RecallID, Scope: ana}, now
		if err != nil || m.Topic != contract.TopicFeedback || !reflect.DeepEqual(got, want[i]) {
			t.Errorf("record %d on %s is %+v, %v, want %+v", i, m.Topic, got, err, want[i])
		}
	}
}

// asksModels gives the tenant policy llm.
func (r *fixture) asksModels(t *testing.T) {
	t.Helper()
	modelled, err := tenant.Static(tenant.Entry{
		Tenant: tenant.Tenant{ID: "acme", Policy: tenant.PolicyLLM}, APIKeys: []string{tenant.HashKey(acmeKey)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.web = httptest.NewServer(utilizer.Handler(r.Recaller, r.out, r.writer, r.noteFared,
		slog.New(slog.NewTextHandler(r.log, nil)), modelled))
	t.Cleanup(r.web.Close)
}

// The citation source depends on the tenant's generator: citations of a model are learned, and citations of the
// embedded generator are not.
func TestCitationsOfAModelAreTold(t *testing.T) {
	r := newFixture(t)
	r.asksModels(t)
	_, err := r.as(acmeKey).Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana",
		Query: "Where does Ana live?"}}))
	if err != nil || len(r.out.msgs) != 1 {
		t.Fatalf("%d records, %v", len(r.out.msgs), err)
	}
	if f, err := contract.DecodeFeedback(r.out.msgs[0].Key, r.out.msgs[0].Value, now); err != nil ||
		f.Source != contract.CitationModel {
		t.Errorf("reported %+v, %v", f, err)
	}
}

func TestAnAnswerWithoutMemoriesIsNoFeedback(t *testing.T) {
	r := newFixture(t)
	r.out.err = errors.New("must not be asked")
	got, err := r.as(acmeKey).Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "eva",
		Query: "Where does Eva live?"}}))
	if err != nil || !got.Msg.GetAbstained() || len(got.Msg.GetRecall().GetDegraded()) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAnAnswerIsGivenAlthoughNobodyLearnsFromIt(t *testing.T) {
	r := newFixture(t)
	r.out.err = fmt.Errorf("10.1.2.3:9092: %w", syscall.ECONNREFUSED)
	c := r.as(acmeKey)
	got, err := c.Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana",
		Query: "Where does Ana live?"}}))
	if err != nil || len(got.Msg.GetRecall().GetDegraded()) != 1 ||
		got.Msg.GetRecall().GetDegraded()[0] != "feedback_unavailable" {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = c.ReportCitations(t.Context(), ask(&mnemev1.ReportCitationsRequest{UserId: "ana", RecallId: "r1",
		ShownIds: []string{"a"}}))
	if connect.CodeOf(err) != connect.CodeUnavailable || strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("a report that is lost gives %v", err)
	}
}

func TestWhatFailsIsLoggedAndNotShown(t *testing.T) {
	r := newFixture(t)
	r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) { return nil, nil, errUnavailable }
	_, err := r.as(acmeKey).Recall(t.Context(), ask(&mnemev1.RecallRequest{UserId: "ana", Query: "Where does Ana live?"}))
	if connect.CodeOf(err) != connect.CodeUnavailable || strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(r.log.String(), "10.1.2.3") || strings.Contains(r.log.String(), "live") {
		t.Errorf("the log says %q, want the cause and not the query", r.log)
	}
}

func TestChangesDropWhatIsIndexed(t *testing.T) {
	r := newRecaller(t)
	lists := &counting{Bank: r.Bank}
	r.Indexes = newIndexCache(t, lists, roomy)
	recalled(t, r, ana)
	change := contract.MemoryChange{Envelope: contract.Envelope{EventID: "op1", Scope: ana}, Operation: memory.OpAdd,
		MemoryID: "m1",
		Time:     now}
	value, err := change.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := utilizer.DropChanged(r.Indexes)(t.Context(), []bus.Message{{Key: change.Key(), Value: value}}); err != nil {
		t.Fatal(err)
	}
	if recalled(t, r, ana); lists.of(ana) != 2 {
		t.Errorf("ana was read %d times, want once more after the change", lists.of(ana))
	}
	if err := utilizer.DropChanged(r.Indexes)(t.Context(),
		[]bus.Message{{Key: change.Key(), Value: []byte("?")}}); !fault.IsTerminal(err) {
		t.Errorf("a record that is no change gives %v", err)
	}
}

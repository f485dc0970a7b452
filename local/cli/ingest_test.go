package cli_test

import (
	"context"
	"encoding/json"
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
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// forming reports every session as formed and records the requested sessions.
type forming struct {
	mnemev1connect.UnimplementedMemoryServiceHandler
	asked []string
	// before is called before an answer. A session with the id waits is never formed.
	before func()
	waits  string
}

func (f *forming) GetSession(_ context.Context,
	req *connect.Request[mnemev1.GetSessionRequest]) (*connect.Response[mnemev1.GetSessionResponse], error) {
	f.asked = append(f.asked, req.Msg.GetSessionId())
	if f.before != nil {
		f.before()
	}
	if req.Msg.GetSessionId() == f.waits {
		return connect.NewResponse(&mnemev1.GetSessionResponse{State: mnemev1.FormationState_FORMATION_STATE_PENDING}), nil
	}
	return connect.NewResponse(&mnemev1.GetSessionResponse{State: mnemev1.FormationState_FORMATION_STATE_FORMED}), nil
}

// A refused turn does not prevent the end of its session. The command waits for the other turns and counts only
// these.
func TestIngestClosesASessionThatHasATurnOfABadTime(t *testing.T) {
	broker, err := servers.StartBroker(t.Context(), servers.BrokerOptions{Options: process.Options{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Stop(context.WithoutCancel(t.Context())) })
	f := &forming{}
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(f))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)

	line := func(session, text, at string) string {
		return `{"user_id":"ana","session_id":"` + session + `","text":"` + text + `","time":"` + at + `"}` + "\n"
	}
	const late = "2999-01-01T00:00:00Z"
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	talk := line("good", "I live in Porto.", atNoon) + line("good", "I live in Porto.", atNoon) +
		line("bad", "I swim.", late) +
		line("mixed", strings.Repeat("I have a dog. ", 20_000), atNoon) + line("mixed", "I have a cat.", late) +
		`{"user_id":"ana","session_id":"ended","text":"I run.","time":"` + atNoon + `"}` + "\n" +
		`{"user_id":"ana","session_id":"ended","closed":true,"time":"` + late + `"}` + "\n"
	if err := os.WriteFile(file, []byte(talk), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, "ingest", file, "--json", "--url", srv.URL, "--key", key, "--brokers", broker.Addr(),
		"--tenant", "acme")
	if code != command.ExitFailed || !strings.Contains(errOut, "2999") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	var got struct {
		Users, Sessions, Turns, Shortened int
		Refused                           []string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got.Users != 1 || got.Sessions != 3 || got.Turns != 3 || got.Shortened != 1 || len(got.Refused) != 3 {
		t.Errorf("ingested %+v, want three turns of three sessions, and two turns and the end of a session refused", got)
	}
	if want := []string{"good", "mixed", "ended"}; !slices.Equal(f.asked, want) {
		t.Errorf("waited for %q, want %q", f.asked, want)
	}
}

// letterOf builds the dead letter that a handler writes for a turn of ingest.
func letterOf(t *testing.T, handler, session, turn string) bus.Message {
	t.Helper()
	scope := memory.Scope{Tenant: "acme", User: "ana"}
	envelope := contract.Envelope{EventID: memory.DeriveTurnID(scope, turn), Scope: scope, SessionID: session}
	said := &memory.Turn{
		ID: turn, SessionID: session, Speaker: "ana", Role: memory.RoleUser, Text: "I live in Porto.",
		Time: time.Now().Add(-time.Hour),
	}
	topic := contract.TopicSessionEvents
	value, err := contract.SessionEvent{Envelope: envelope, Turn: said}.Encode()
	if handler == "consolidation" {
		topic = contract.TopicSalientTurns
		value, err = contract.SalientEvent{
			Envelope: envelope, Turn: said, Decision: memory.SaliencyDecision{Salient: true, DecidedAt: time.Now(),
				PolicyVersion: "p"},
		}.Encode()
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(&mnemev1.DeadLetter{
		SchemaVersion: contract.SchemaVersion, Id: "d-" + turn, Reason: "model answer truncated", Handler: handler,
		Topic: topic,
		Key:   envelope.Key(), Value: value, Time: timestamppb.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{Topic: contract.TopicDeadLetters, Key: envelope.Key(), Value: body}
}

// The command counts turns that become dead letters. It does not wait for a session that was given up.
func TestIngestSaysWhatBecameADeadLetter(t *testing.T) {
	broker, err := servers.StartBroker(t.Context(), servers.BrokerOptions{Options: process.Options{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Stop(context.WithoutCancel(t.Context())) })
	out, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: kafka.Cluster{Brokers: []string{broker.Addr()},
		ClientID: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	publish := sync.OnceFunc(func() {
		dead := []bus.Message{letterOf(t, "saliency-filter", "partly", "p2"), letterOf(t, "consolidation", "lost", "l1")}
		if err := out.Publish(t.Context(), dead...); err != nil {
			t.Error(err)
		}
	})
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(&forming{before: publish, waits: "lost"}))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)

	file := filepath.Join(t.TempDir(), "talk.jsonl")
	talk := ""
	for _, turn := range []string{"p1", "p2", "l1"} {
		session := map[byte]string{'p': "partly", 'l': "lost"}[turn[0]]
		talk += `{"user_id":"ana","session_id":"` + session + `","turn_id":"` + turn + `",` +
			`"text":"I live in Porto.","time":"` + atNoon + `"}` + "\n"
	}
	if err := os.WriteFile(file, []byte(talk), 0o600); err != nil {
		t.Fatal(err)
	}
	code, printed, errOut := run(t, "ingest", file, "--json", "--url", srv.URL, "--key", key, "--brokers", broker.Addr(),
		"--tenant", "acme")
	if code != command.ExitFailed || !strings.Contains(errOut, "2 turns became dead letters") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	var got struct {
		Turns       int
		DeadLetters []string `json:"dead_letters"`
	}
	if err := json.Unmarshal([]byte(printed), &got); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	if got.Turns != 1 || len(got.DeadLetters) != 2 ||
		!strings.Contains(got.DeadLetters[1], "l1 of session lost of ana: consolidation") {
		t.Errorf("ingested %+v, want one turn, and two dead letters", got)
	}
}

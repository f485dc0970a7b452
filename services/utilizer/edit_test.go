package utilizer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// silent drops announcements.
type silent struct{}

func (silent) Announce(context.Context, memory.Scope, []memory.Change, time.Time) error { return nil }
func (silent) DeadLetter(context.Context, consolidation.Batch, string, time.Time) error { return nil }

// editing does the work of the user's workflow for a write request.
func editing(r *utilizer.Recaller) func(context.Context, consolidation.Edit) error {
	a := &consolidation.Activities{Embedder: r.Embedder, Bank: r.Bank, Window: r.Window, Announce: silent{}}
	return func(ctx context.Context, in consolidation.Edit) error {
		decided, err := a.Edit(ctx, consolidation.EditInput{Scope: ana, Edit: in, Now: now})
		var refused *temporal.ApplicationError
		if errors.As(err, &refused) {
			return fault.Terminal("", "%s", refused.Message())
		}
		if err != nil || len(decided.Write.Put) == 0 {
			return err
		}
		b := consolidation.Batch{Scope: ana, Strategy: in.Strategy, SessionID: in.Turn.SessionID,
			Turns: []consolidation.Turn{{Turn: in.Turn}}}
		return a.Apply(ctx, consolidation.ApplyInput{Batch: b, Decided: decided, Now: now})
	}
}

func newEditing(t *testing.T) *fixture {
	r := newFixture(t)
	r.writer.edit = editing(r.Recaller)
	return r
}

func saying(id, said string) *mnemev1.Turn {
	return &mnemev1.Turn{TurnId: id, Speaker: "Ana", Role: mnemev1.Role_ROLE_USER, Text: said,
		Time: timestamppb.New(now.Add(time.Hour))}
}

func addition(turn *mnemev1.Turn) *mnemev1.AddMemoryRequest {
	return &mnemev1.AddMemoryRequest{UserId: "ana", Turn: turn, SessionId: "s7", Kind: mnemev1.Kind_KIND_PREFERENCE}
}

func update(memoryID string, turn *mnemev1.Turn) *mnemev1.UpdateMemoryRequest {
	return &mnemev1.UpdateMemoryRequest{UserId: "ana", MemoryId: memoryID, Turn: turn}
}

func TestAnAdditionIsWrittenAsItIsTold(t *testing.T) {
	r := newEditing(t)
	const said = "I'd rather drink oolong tea\nthan coffee."
	var first *mnemev1.Memory
	for range 2 {
		res, err := r.as(acmeKey).AddMemory(t.Context(), connect.NewRequest(addition(saying("a1", said))))
		if err != nil {
			t.Fatal(err)
		}
		m := res.Msg.GetMemory()
		if m.GetContent() != said || m.GetKind() != mnemev1.Kind_KIND_PREFERENCE || m.GetSpeaker() != "Ana" ||
			m.GetVersion() != 1 ||
			m.GetStatus() != mnemev1.Status_STATUS_ACTIVE || m.GetSessionId() != "s7" || m.GetPolicyVersion() != "caller/1" ||
			m.GetId() != memory.DeriveID(ana, []string{"a1"}, 0) {
			t.Errorf("the entry is %v", m)
		}
		if first == nil {
			first = m
		}
		if !proto.Equal(first, m) {
			t.Errorf("again it is %v, first it was %v", m, first)
		}
	}
	if n, err := r.Bank.Count(t.Context(), ana); err != nil || n.Memories != len(facts)+1 || n.Turns != len(facts)+1 {
		t.Errorf("the bank keeps %+v, %v", n, err)
	}
	if len(r.writer.edits) != 2 || r.writer.edits[0].ID == r.writer.edits[1].ID || r.writer.params[0].Scope != ana {
		t.Errorf("the writer was asked %+v for %+v", r.writer.edits, r.writer.params)
	}
	plain := addition(saying("a2", "Ana has two cats."))
	plain.Kind, plain.Turn.Role = mnemev1.Kind_KIND_UNSPECIFIED, mnemev1.Role_ROLE_ASSISTANT
	res, err := r.as(acmeKey).AddMemory(t.Context(), connect.NewRequest(plain))
	if m := res.Msg.GetMemory(); err != nil || m.GetKind() != mnemev1.Kind_KIND_FACT || m.GetSpeaker() != "" {
		t.Errorf("what an assistant tells is %v, %v; want a fact in the third person", m, err)
	}
}

func TestAnUpdateWritesANewVersion(t *testing.T) {
	r := newEditing(t)
	for range 2 {
		res, err := r.as(acmeKey).UpdateMemory(t.Context(),
			connect.NewRequest(update(someID(), saying("u1", "I live in Braga."))))
		if err != nil {
			t.Fatal(err)
		}
		m := res.Msg.GetMemory()
		if m.GetContent() != "I live in Braga." || m.GetVersion() != 2 || m.GetStatus() != mnemev1.Status_STATUS_ACTIVE ||
			len(m.GetPredecessorIds()) != 1 || m.GetPredecessorIds()[0] != someID() || m.GetSessionId() != "s1" {
			t.Errorf("the new version is %v", m)
		}
	}
	h, err := r.as(acmeKey).GetMemoryHistory(t.Context(),
		connect.NewRequest(&mnemev1.GetMemoryHistoryRequest{UserId: "ana", MemoryId: someID()}))
	if err != nil || len(h.Msg.GetVersions()) != 2 ||
		h.Msg.GetVersions()[0].GetStatus() != mnemev1.Status_STATUS_SUPERSEDED {
		t.Errorf("the history is %v, %v", h, err)
	}
	_, err = r.as(acmeKey).UpdateMemory(t.Context(), connect.NewRequest(update(someID(), saying("u2", "I live in Faro."))))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition ||
		!strings.Contains(err.Error(), "update is refused: the memory is superseded") ||
		rpcerror.Reason(err) != rpcerror.ReasonSuperseded {
		t.Errorf("another version of what is superseded gives %v", err)
	}
}

func TestAnUpdateOfWhatIsNotThere(t *testing.T) {
	r := newEditing(t)
	for name, c := range map[string]struct{ key, user, id string }{
		"unknown":        {acmeKey, "ana", memory.DeriveID(ana, []string{"t1"}, 99)},
		"other user's":   {acmeKey, "ben", someID()},
		"other tenant's": {betaKey, "ana", someID()},
	} {
		t.Run(name, func(t *testing.T) {
			req := update(c.id, saying("u1", "I live in Braga."))
			req.UserId = c.user
			if _, err := r.as(c.key).UpdateMemory(t.Context(),
				connect.NewRequest(req)); connect.CodeOf(err) != connect.CodeNotFound {
				t.Errorf("got %v", err)
			}
		})
	}
	if len(r.writer.edits) != 0 {
		t.Errorf("the writer was asked %+v", r.writer.edits)
	}
}

func TestWhatCannotBeWrittenSaysWhichFieldIsWrong(t *testing.T) {
	r := newEditing(t)
	for field, spoil := range map[string]func(*mnemev1.AddMemoryRequest){
		"user_id":      func(q *mnemev1.AddMemoryRequest) { q.UserId = " " },
		"session_id":   func(q *mnemev1.AddMemoryRequest) { q.SessionId = "" },
		"kind":         func(q *mnemev1.AddMemoryRequest) { q.Kind = 99 },
		"turn":         func(q *mnemev1.AddMemoryRequest) { q.Turn = nil },
		"turn.turn_id": func(q *mnemev1.AddMemoryRequest) { q.Turn.TurnId = strings.Repeat("x", 129) },
		"turn.speaker": func(q *mnemev1.AddMemoryRequest) { q.Turn.Speaker = "Ana\u2028Ben" },
		"turn.role":    func(q *mnemev1.AddMemoryRequest) { q.Turn.Role = mnemev1.Role_ROLE_UNSPECIFIED },
		"turn.text":    func(q *mnemev1.AddMemoryRequest) { q.Turn.Text = strings.Repeat("x", 32<<10+1) },
		"turn.caption": func(q *mnemev1.AddMemoryRequest) { q.Turn.Caption = strings.Repeat("x", 4<<10+1) },
		"turn.time":    func(q *mnemev1.AddMemoryRequest) { q.Turn.Time = timestamppb.New(time.Now().Add(48 * time.Hour)) },
	} {
		req := addition(saying("a1", "I drink tea."))
		spoil(req)
		_, err := r.as(acmeKey).AddMemory(t.Context(), connect.NewRequest(req))
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%s: an addition gives %v", field, err)
		}
		if !strings.HasPrefix(field, "turn") {
			continue
		}
		_, err = r.as(acmeKey).UpdateMemory(t.Context(), connect.NewRequest(update(someID(), req.GetTurn())))
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%s: an update gives %v", field, err)
		}
	}
	for field, spoil := range map[string]func(*mnemev1.AddMemoryRequest){
		"user_id":      func(q *mnemev1.AddMemoryRequest) { q.UserId = "in\u200bes" },
		"session_id":   func(q *mnemev1.AddMemoryRequest) { q.SessionId = ".." },
		"turn.turn_id": func(q *mnemev1.AddMemoryRequest) { q.Turn.TurnId = "a\r\nb" },
	} {
		req := addition(saying("a1", "I drink tea."))
		spoil(req)
		_, err := r.as(acmeKey).AddMemory(t.Context(), connect.NewRequest(req))
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%s: an addition under a hidden id gives %v", field, err)
		}
	}
	_, err := r.as(acmeKey).UpdateMemory(t.Context(), connect.NewRequest(update("m1", saying("u1", "I live in Braga."))))
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "memory_id: ") ||
		len(r.writer.edits) != 0 {
		t.Errorf("an id that is none gives %v, and the writer was asked %+v", err, r.writer.edits)
	}
}

func TestHowAWriteEnds(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code connect.Code
		says string
	}{
		"refused": {fault.Terminal("turn.turn_id", "is used"), connect.CodeFailedPrecondition,
			"refused: turn.turn_id: is used"},
		"pending":     {consolidation.ErrPending, connect.CodeUnavailable, "accepted, but not done yet"},
		"unavailable": {fmt.Errorf("10.1.2.3:7233: %w", syscall.ECONNREFUSED), connect.CodeUnavailable, "try again"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newFixture(t)
			r.writer.err = c.err
			_, add := r.as(acmeKey).AddMemory(t.Context(), connect.NewRequest(addition(saying("a1", "I drink tea."))))
			_, change := r.as(acmeKey).UpdateMemory(t.Context(),
				connect.NewRequest(update(someID(), saying("u1", "I live in Braga."))))
			for _, err := range []error{add, change} {
				if connect.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) ||
					strings.Contains(err.Error(), "10.1.2.3") ||
					name == "refused" && rpcerror.Reason(err) != rpcerror.ReasonTurnUsed {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestAWriteDropsTheUsersIndex(t *testing.T) {
	r := newEditing(t)
	r.Indexes.Fetch(ana)()
	if !r.Indexes.Has(ana) {
		t.Fatal("there is no index")
	}
	if _, err := r.as(acmeKey).AddMemory(t.Context(),
		connect.NewRequest(addition(saying("a1", "I drink tea.")))); err != nil {
		t.Fatal(err)
	}
	if r.Indexes.Has(ana) {
		t.Error("the index of before is still there")
	}
}

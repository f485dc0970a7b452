package utilizer_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// retracting does the work of the user's workflow for a request, after a delay.
func retracting(r *utilizer.Recaller, busy time.Duration) func(context.Context, consolidation.Retraction) error {
	return func(ctx context.Context, in consolidation.Retraction) error {
		select {
		case <-ctx.Done():
			return consolidation.ErrPending
		case <-time.After(busy):
		}
		w := memory.Write{Close: []memory.Closing{{ID: in.MemoryID, Status: memory.StatusRetracted, ValidTo: now,
			OperationID: "op1"}}}
		return r.Bank.Write(ctx, ana, w)
	}
}

func deletion(id string) *connect.Request[mnemev1.DeleteMemoryRequest] {
	return connect.NewRequest(&mnemev1.DeleteMemoryRequest{UserId: "ana", MemoryId: id})
}

func TestADeletionWaitsForTheUsersWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const busy = 3 * time.Second
		r := newRecaller(t)
		w := &writer{then: retracting(r, busy)}
		ctx := tenant.NewContext(t.Context(), acme)
		server := utilizer.NewMemoryServer(r, w, slog.New(slog.DiscardHandler))
		began := time.Now()
		for range 2 {
			got, err := server.DeleteMemory(ctx, deletion(someID()))
			if err != nil || got.Msg.GetMemory().GetStatus() != mnemev1.Status_STATUS_RETRACTED {
				t.Fatalf("got %v, %v", got, err)
			}
		}
		if took := time.Since(began); took < busy {
			t.Errorf("answered after %s, before it was done", took)
		}
		if len(w.requests) != 1 || w.requests[0].MemoryID != someID() || w.requests[0].ID == "" ||
			w.requests[0].Strategy != "salimory" ||
			w.params[0].Scope != ana || w.params[0].Strategy != "salimory" {
			t.Errorf("the writer was asked %+v for %+v, want the entry once", w.requests, w.params)
		}
	})
}

func TestADeletionThatTakesTooLongSaysThatItIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecaller(t)
		server := utilizer.NewMemoryServer(r, &writer{then: retracting(r, time.Hour)}, slog.New(slog.DiscardHandler))
		began := time.Now()
		_, err := server.DeleteMemory(tenant.NewContext(t.Context(), acme), deletion(someID()))
		if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "accepted") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != utilizer.RetractWait {
			t.Errorf("waited %s", took)
		}
	})
}

func TestADeletionThatIsRefusedSaysWhy(t *testing.T) {
	w := &writer{err: fault.Terminal("", "embedding mismatch")}
	server := utilizer.NewMemoryServer(newRecaller(t), w, slog.New(slog.DiscardHandler))
	_, err := server.DeleteMemory(tenant.NewContext(t.Context(), acme), deletion(someID()))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition ||
		!strings.Contains(err.Error(), "refused: embedding mismatch") ||
		rpcerror.Reason(err) != rpcerror.ReasonRefused {
		t.Errorf("got %v, want a refusal that says why", err)
	}
}

func TestADeletionThatNobodyTakes(t *testing.T) {
	r := newFixture(t)
	r.writer.err = fmt.Errorf("10.1.2.3:7233: %w", syscall.ECONNREFUSED)
	_, err := r.as(acmeKey).DeleteMemory(t.Context(), deletion(someID()))
	if connect.CodeOf(err) != connect.CodeUnavailable || strings.Contains(err.Error(), "accepted") ||
		strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("got %v", err)
	}
	_, err = r.as(acmeKey).DeleteMemory(t.Context(), deletion(memory.DeriveID(ana, []string{"t1"}, 99)))
	if connect.CodeOf(err) != connect.CodeNotFound || len(r.writer.requests) != 1 {
		t.Errorf("deleting what is not there gives %v, and the writer got %v", err, r.writer.requests)
	}
}

func TestHistoryIsNotDeletedByItself(t *testing.T) {
	r := newRecaller(t)
	move(t, r)
	server := utilizer.NewMemoryServer(r, &writer{}, slog.New(slog.DiscardHandler))
	_, err := server.DeleteMemory(tenant.NewContext(t.Context(), acme), deletion(someID()))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "superseded") {
		t.Errorf("got %v, want a refusal that says why", err)
	}
}

// A newer version may replace the entry after the check and before the write.
func TestADeletionThatANewerVersionOvertakes(t *testing.T) {
	r := newRecaller(t)
	w := &writer{then: func(context.Context, consolidation.Retraction) error {
		move(t, r)
		return fault.Terminal("", "the memory is superseded")
	}}
	server := utilizer.NewMemoryServer(r, w, slog.New(slog.DiscardHandler))
	_, err := server.DeleteMemory(tenant.NewContext(t.Context(), acme), deletion(someID()))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "superseded") {
		t.Errorf("got %v, want a refusal that says why", err)
	}
}

package mem0

import (
	"context"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
)

// Feedback on a memory.
const (
	positive     = "POSITIVE"
	negative     = "NEGATIVE"
	veryNegative = "VERY_NEGATIVE"
)

// feedback reports helpful memories to the ranking, if the user's last search showed the memory. The ranking learns
// from searches, not from memories. A search teaches once.
func (a *api) feedback(r *http.Request, in fields) (any, error) {
	id, err := in.text("memory_id")
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, problem.Invalid("memory_id", "is missing")
	}
	verdict, err := in.text("feedback")
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"", positive, negative, veryNegative}, verdict) {
		return nil, problem.Invalid("feedback", "is invalid, want POSITIVE, NEGATIVE or VERY_NEGATIVE")
	}
	if _, err := in.text("feedback_reason"); err != nil {
		return nil, err
	}
	f, err := a.find(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if err := backend.Check(r.Context(), access.Recall, f.user); err != nil {
		return nil, err
	}
	message, err := a.judge(r.Context(), f, verdict)
	if err != nil {
		return nil, err
	}
	return reply{http.StatusCreated,
		map[string]string{"id": id, "memory_id": id, "feedback": verdict, "message": message}}, nil
}

// judge reports a verdict about a memory, and returns the result. It reports nothing about memories without a
// verdict. For a positive verdict these are the memories that the search showed and the client did not take. For a
// negative verdict their value is unknown.
func (a *api) judge(ctx context.Context, f found, verdict string) (string, error) {
	if verdict == "" {
		return "Accepted. Nothing is learned without a verdict.", nil
	}
	scope := scopeOf(ctx, f.user)
	last, err := a.State.LastRecall(ctx, scope)
	if err != nil {
		return "", err
	}
	seen := slices.IndexFunc(last.IDs, func(id string) bool {
		return f.version(func(m *mnemev1.Memory) bool { return m.GetId() == id }) != nil
	})
	if seen < 0 {
		return "Accepted. Nothing is learned: the last search for this user, of the last day, did not show the memory, or " +
			"has taught already.", nil
	}
	report := &mnemev1.ReportCitationsRequest{UserId: f.user, RecallId: last.ID, ShownIds: last.IDs,
		CitedIds: []string{last.IDs[seen]}}
	if verdict != positive {
		report.ShownIds, report.CitedIds = report.CitedIds, nil
	}
	if _, err := a.Services.Recall.ReportCitations(ctx, connect.NewRequest(report)); err != nil {
		return "", err
	}
	return "Accepted. The ranking learns from it.", a.State.DropRecall(ctx, scope)
}

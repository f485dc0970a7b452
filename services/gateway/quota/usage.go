package quota

import (
	"context"
	"errors"
	"maps"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/usage"
)

// Usage that is not a daily count: the tenant's stored memories, and its verbatim items.
const (
	Memories = "memories"
	Items    = "items"
)

// retryStored is the retry delay for calls beyond the storage limit. The tenant must delete memories or items
// first.
const retryStored = time.Hour

// Count counts n uses of a principal (usage.Turns, ...).
func (q *Quota) Count(ctx context.Context, p access.Principal, what string, n int) {
	q.usage.Count(ctx, p.Tenant.ID, what, int64(n))
}

// Counting is the interceptor for the clients of backend.New. It counts successful recalls and answers. It refuses
// calls of tenants over the limit of model tokens, or of memories.
func (q *Quota) Counting() connect.Interceptor {
	what := map[string]string{
		mnemev1connect.UtilizerServiceRecallProcedure: usage.Recalls,
		mnemev1connect.UtilizerServiceAnswerProcedure: usage.Answers,
	}
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			p, ok := access.FromContext(ctx)
			if ok {
				if err := q.permit(ctx, p, req.Spec().Procedure); err != nil {
					return nil, err
				}
			}
			res, err := next(ctx, req)
			if w, counted := what[req.Spec().Procedure]; ok && counted && err == nil {
				q.Count(ctx, p, w, 1)
			}
			return res, err
		}
	})
}

// permit returns the reason to refuse a call. Without model tokens, it refuses a recall or an answer. At the limit
// of memories, it refuses a verbatim write or an import.
func (q *Quota) permit(ctx context.Context, p access.Principal, procedure string) error {
	switch procedure {
	case mnemev1connect.UtilizerServiceRecallProcedure, mnemev1connect.UtilizerServiceAnswerProcedure:
		return q.tokens(ctx, p)
	case mnemev1connect.MemoryServiceAddMemoryProcedure, mnemev1connect.UserDataServiceImportUserProcedure:
		return q.memories(ctx, p)
	}
	return nil
}

// tokens returns a problem where the tenant has used the tokens of a day.
func (q *Quota) tokens(ctx context.Context, p access.Principal) error {
	if q.limits.TokensPerDay == 0 {
		return nil
	}
	var used int64
	err := q.counts.Ask(ctx, func(ctx context.Context) (err error) {
		used, err = q.usage.Today(ctx, p.Tenant.ID, usage.Tokens)
		return err
	})
	if err != nil {
		return q.counts.without(ctx)
	}
	if used < int64(q.limits.TokensPerDay) {
		return nil
	}
	count(ctx, q.limited, p, quotaTokens)
	now := q.now().UTC()
	return exceeded(problem.CodeOverQuota, quotaTokens, now.Truncate(24*time.Hour).Add(24*time.Hour).Sub(now))
}

// memories returns a problem where as many memories of the tenant are stored as may be.
func (q *Quota) memories(ctx context.Context, p access.Principal) error {
	if q.limits.Memories == 0 {
		return nil
	}
	n, err := q.stored(ctx, p)
	if err != nil {
		return q.counts.without(ctx)
	}
	if n < int64(q.limits.Memories) {
		return nil
	}
	count(ctx, q.limited, p, quotaMemories)
	return exceeded(problem.CodeOverQuota, quotaMemories, retryStored)
}

// OverItems counts a call that would store more verbatim items than the tenant of ctx may have. It returns the
// problem of that call.
func (q *Quota) OverItems(ctx context.Context) error {
	if p, ok := access.FromContext(ctx); ok {
		count(ctx, q.limited, p, quotaItems)
	}
	return exceeded(problem.CodeOverQuota, quotaItems, retryStored)
}

// stored is how many memories of a tenant are stored. All replicas go by a number for a while.
func (q *Quota) stored(ctx context.Context, p access.Principal) (int64, error) {
	known, fresh, err := q.counts.Memories(ctx, p.Tenant.ID)
	if err != nil || fresh {
		return known, err
	}
	n, err := q.Stored(ctx, p.Tenant)
	if err != nil {
		return 0, err
	}
	return n, q.counts.KeepMemories(ctx, p.Tenant.ID, n)
}

// Usage returns the usage of ctx's tenant on a day ("2026-11-25", in UTC; empty for today). Absent usage is 0. For
// today it also returns the number of stored memories and items, if that is available. Usage of the last second on
// other replicas and services may be missing. It needs access.Admin. Its errors are problems, or the errors of
// backend.Check.
func (q *Quota) Usage(ctx context.Context, date string) (map[string]int64, error) {
	if err := backend.Check(ctx, access.Admin, ""); err != nil {
		return nil, err
	}
	p, _ := access.FromContext(ctx) // checked
	counted, err := q.usage.Of(ctx, p.Tenant.ID, date)
	if errors.Is(err, usage.ErrDay) {
		return nil, problem.Invalid("day", err.Error())
	}
	if err != nil {
		return nil, problem.Unavailable("usage is unavailable at the moment, try again", time.Second)
	}
	out := map[string]int64{usage.Requests: 0, usage.Turns: 0, usage.Recalls: 0, usage.Answers: 0, usage.Tokens: 0}
	maps.Copy(out, counted)
	if date == "" || date == q.now().UTC().Format(time.DateOnly) {
		for what, stored := range map[string]func() (int64, error){
			Memories: func() (int64, error) { return q.stored(ctx, p) },
			Items:    func() (int64, error) { return q.Kept(ctx, p.Tenant.ID) },
		} {
			n, err := stored()
			if err != nil {
				q.log.WarnContext(ctx, "the number of stored "+what+" is unknown", "error", err)
				continue
			}
			out[what] = n
		}
	}
	return out, nil
}

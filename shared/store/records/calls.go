package records

import (
	"context"
	"iter"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Call is a recorded call with the outcomes of the memories that it touched, by their ids.
type Call struct {
	llm.Record
	Outcomes map[string]Outcome `json:"outcomes,omitempty"`
}

// Calls iterates over the recorded calls of a tenant, user by user. An empty user or role means all. It ends after an
// error.
func (s *Store) Calls(ctx context.Context, tenant, user, role string) iter.Seq2[Call, error] {
	return func(yield func(Call, error) bool) {
		users, err := s.Users(ctx, tenant)
		if err != nil {
			yield(Call{}, err)
			return
		}
		for _, u := range users {
			if user != "" && u != user {
				continue
			}
			list, outcomes, err := s.Records(ctx, memory.Scope{Tenant: tenant, User: u})
			if err != nil {
				yield(Call{}, err)
				return
			}
			for _, r := range list {
				if role != "" && string(r.Role) != role {
					continue
				}
				call := Call{Record: r, Outcomes: map[string]Outcome{}}
				for _, id := range r.Memories {
					call.Outcomes[id] = outcomes[id]
				}
				if !yield(call, nil) {
					return
				}
			}
		}
	}
}

package mem0

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// maxUsers is the limit on users in a filter.
const maxUsers = 10

// filter selects memories by user and by condition.
type filter struct {
	// users are the users with matching memories. The list is empty if the filter contradicts itself.
	users []string
	// root is the condition on their memories.
	root condition
	// narrow reports whether the filter has a condition besides the users.
	narrow bool
}

// condition is a part of a filter.
type condition interface {
	// clauseFor is the condition on the memories of a user.
	clauseFor(user string) clause
	// owners returns the users to whom the condition binds a memory, and the firmness. Without firmness it binds to
	// no user.
	owners() (users []string, f firmness)
}

// firmness is the rank of the field that names the owner. With a user_id, an agent_id only selects among the user's
// memories.
type firmness int

const (
	byNobody firmness = iota
	byRun
	byApp
	byAgent
	byUser
)

// firmnessOf is the firmness of each field in entityFields.
var firmnessOf = map[string]firmness{runField: byRun, appField: byApp, agentField: byAgent, userField: byUser}

type allOf []condition

func (c allOf) clauseFor(user string) clause { return every(c.parts(user)...) }

// parts are the conditions on the memories of a user.
func (c allOf) parts(user string) []clause {
	out := make([]clause, len(c))
	for i, part := range c {
		out[i] = part.clauseFor(user)
	}
	return out
}

// owners of conditions that all hold are those that the firmest of them agree on.
func (c allOf) owners() (users []string, f firmness) {
	for _, part := range c {
		more, firm := part.owners()
		switch {
		case firm == byNobody || firm < f:
		case firm > f:
			users, f = more, firm
		default:
			users = slices.DeleteFunc(slices.Clone(users), func(u string) bool { return !slices.Contains(more, u) })
		}
	}
	return users, f
}

type anyOf []condition

func (c anyOf) clauseFor(user string) clause { return either(allOf(c).parts(user)...) }

// owners returns the users of all conditions, because one condition is enough. If one condition binds to no user,
// the result has no user.
func (c anyOf) owners() (users []string, f firmness) {
	for i, part := range c {
		more, firm := part.owners()
		if firm == byNobody {
			return nil, byNobody
		}
		if i == 0 || firm < f {
			f = firm
		}
		for _, u := range more {
			if !slices.Contains(users, u) {
				users = append(users, u)
			}
		}
	}
	return users, f
}

type noneOf []condition

func (c noneOf) clauseFor(user string) clause { return anyOf(c).clauseFor(user).not() }

func (noneOf) owners() ([]string, firmness) { return nil, byNobody }

// binding is a condition on an entity that names its users.
type binding struct {
	test  test
	users []string
	firm  firmness
}

func (c binding) clauseFor(user string) clause {
	return either(decided(slices.Contains(c.users, user)), c.test(user))
}

func (c binding) owners() ([]string, firmness) { return c.users, c.firm }

// test is a condition that names no users.
type test func(user string) clause

func (t test) clauseFor(user string) clause { return t(user) }

func (test) owners() ([]string, firmness) { return nil, byNobody }

// filterOf reads the filters of a request, and the entities and conditions next to them.
func (a *api) filterOf(ctx context.Context, in fields) (filter, error) {
	p := &parser{}
	root, err := p.request(in)
	if err != nil {
		return filter{}, err
	}
	out := filter{root: root, narrow: p.narrow}
	users, firm := root.owners()
	if key := bound(ctx); key != "" && firm < byUser {
		out.narrow = out.narrow || firm != byNobody
		users, firm = []string{key}, byUser
	}
	if firm == byNobody {
		return filter{}, problem.Invalid("filters", "name no user, want a user_id, or an agent_id, app_id or run_id, in "+
			"the filters or in each part of their OR; `*` names none")
	}
	if len(users) > maxUsers {
		return filter{}, problem.Invalid("filters", fmt.Sprintf("name %d users, want at most %d", len(users), maxUsers))
	}
	out.users = users
	for _, u := range users {
		if err := memory.ValidUser(u); err != nil {
			return filter{}, placed("filters", "", err)
		}
		if err := valid(root.clauseFor(u)); err != nil {
			return filter{}, err
		}
	}
	return out, nil
}

// valid checks the limits of filters. Errors name the filters as a whole: one field of mem0's may be several
// conditions of the bank.
func valid(c clause) error {
	_, err := contract.FilterFrom(c.filter)
	if err != nil {
		p := problem.From(err)
		p.Field = "filters"
		return p
	}
	return nil
}

// clause is a condition on the memories of one user. It is a filter that the bank evaluates, or a constant result
// for all memories.
type clause struct {
	// filter is nil where holds is the answer for every memory of the user.
	filter *mnemev1.Filter
	holds  bool
}

// decided is a clause with the same answer for every memory of the user.
func decided(holds bool) clause { return clause{holds: holds} }

// every is a clause that holds where all of its parts hold.
func every(parts ...clause) clause {
	return flat(parts, true, (*mnemev1.Filter).GetAnd, func(all *mnemev1.Filters) *mnemev1.Filter {
		return &mnemev1.Filter{Filter: &mnemev1.Filter_And{And: all}}
	})
}

// either is a clause that holds where one of its parts holds.
func either(parts ...clause) clause {
	return flat(parts, false, (*mnemev1.Filter).GetOr, func(all *mnemev1.Filters) *mnemev1.Filter {
		return &mnemev1.Filter{Filter: &mnemev1.Filter_Or{Or: all}}
	})
}

// flat joins parts as flat as can be, because the depth of filters is bounded. inner are the parts of a filter that
// is joined in the same way. neutral is the answer that decides nothing.
func flat(
	parts []clause, neutral bool, inner func(*mnemev1.Filter) *mnemev1.Filters,
	join func(*mnemev1.Filters) *mnemev1.Filter,
) clause {
	var filters []*mnemev1.Filter
	for _, c := range parts {
		switch {
		case inner(c.filter) != nil:
			filters = append(filters, inner(c.filter).GetFilters()...)
		case c.filter != nil:
			filters = append(filters, c.filter)
		case c.holds != neutral:
			return c
		}
	}
	switch len(filters) {
	case 0:
		return decided(neutral)
	case 1:
		return clause{filter: filters[0]}
	}
	return clause{filter: join(&mnemev1.Filters{Filters: filters})}
}

// not is a clause that holds where c does not.
func (c clause) not() clause {
	if c.filter == nil {
		return decided(!c.holds)
	}
	if inner := c.filter.GetNot(); inner != nil {
		return clause{filter: inner}
	}
	return clause{filter: &mnemev1.Filter{Filter: &mnemev1.Filter_Not{Not: c.filter}}}
}

func leaf(c *mnemev1.Condition) clause {
	return clause{filter: &mnemev1.Filter{Filter: &mnemev1.Filter_Condition{Condition: c}}}
}

func equals(field string, value *structpb.Value) clause {
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_Equals{Equals: value}})
}

// among is a clause that holds where the field equals one of the values.
func among(field string, values []*structpb.Value) clause {
	if len(values) == 0 {
		return decided(false)
	}
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_In{In: &structpb.ListValue{Values: values}}})
}

func exists(field string) clause {
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_Exists{Exists: true}})
}

func contains(field string, value *structpb.Value) clause {
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_Contains{Contains: value}})
}

// bounded is a clause that compares the field with a bound by the operator gt, gte, lt or lte.
func bounded(field, operator string, bound *structpb.Value) clause {
	r := &mnemev1.Range{}
	switch operator {
	case "gt":
		r.Gt = bound
	case "gte":
		r.Gte = bound
	case "lt":
		r.Lt = bound
	case "lte":
		r.Lte = bound
	}
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_Range{Range: r}})
}

// firstPresent applies a test to the first of two fields that a memory has.
func firstPresent(field, second string, test func(field string) clause) clause {
	return either(test(field), every(exists(field).not(), test(second)))
}

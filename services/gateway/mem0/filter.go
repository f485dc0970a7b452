package mem0

import (
	"context"
	"fmt"
	"slices"

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

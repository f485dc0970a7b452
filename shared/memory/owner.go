package memory

import "strings"

// Owner separates the user's turns from turns of other speakers in a group. The zero value has no names.
type Owner struct{ names map[string]bool }

// OwnerOf finds the names under which a user speaks. These are the empty name, the name of the user role, and the
// user's id. If no turn has one of them, the speaker of most turns is the user. Turns of the assistant do not count.
func OwnerOf(scope Scope, turns []Turn) Owner {
	spoken := map[string]int{}
	for _, t := range turns {
		if t.Role != RoleAssistant {
			spoken[strings.ToLower(t.Speaker)]++
		}
	}
	owner := map[string]bool{"": true, string(RoleUser): true, strings.ToLower(scope.User): true}
	most, found := "", false
	for name, n := range spoken {
		found = found || owner[name]
		if n > spoken[most] || n == spoken[most] && name < most {
			most = name
		}
	}
	if !found {
		owner[most] = true
	}
	return Owner{owner}
}

// Known reports whether the names of the user are known.
func (o Owner) Known() bool { return len(o.names) > 0 }

// Is reports whether a speaker is the user.
func (o Owner) Is(speaker string) bool { return o.names[strings.ToLower(speaker)] }

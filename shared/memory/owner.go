package memory

import "strings"

// Owner tells the user's own turns from those of other speakers of a group. The zero value knows nobody.
type Owner struct{ names map[string]bool }

// OwnerOf finds out by what names a user speaks: without a name, by the role, or by the user's id; or else the user is who speaks most of
// the turns.
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

// Known reports whether it is known who the user is.
func (o Owner) Known() bool { return len(o.names) > 0 }

// Is reports whether a speaker is the user.
func (o Owner) Is(speaker string) bool { return o.names[strings.ToLower(speaker)] }

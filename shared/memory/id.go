package memory

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// namespace separates Mneme's derived identifiers from all other identifiers.
var namespace = uuid.MustParse("6d6e656d-6500-5000-8000-6d656d6f7279")

// DeriveID returns the identifier of the entry that the index-th operation writes from the source turns. It is a
// UUID version 5 of tenant, user, sorted sources and index. So a repeated delivery writes the same entry again
// instead of another one.
func DeriveID(scope Scope, sources []string, index int) string {
	sorted := slices.Clone(sources)
	slices.Sort(sorted)
	return derive("memory", append([]string{scope.Tenant, scope.User, strconv.Itoa(index)}, sorted...)...)
}

// DeriveTurnID returns the store identifier of a turn.
func DeriveTurnID(scope Scope, turnID string) string {
	return derive("turn", scope.Tenant, scope.User, turnID)
}

// DeriveSessionID returns the store identifier of a session.
func DeriveSessionID(scope Scope, sessionID string) string {
	return derive("session", scope.Tenant, scope.User, sessionID)
}

// DeriveOperationID returns the identifier of an operation from its contents.
func DeriveOperationID(scope Scope, op Operation) string {
	parts := []string{scope.Tenant, scope.User, string(op.Kind)}
	if op.New != nil {
		parts = append(parts, op.New.ID)
	}
	// The count separates targets from sources.
	parts = append(parts, strconv.Itoa(len(op.Targets)))
	parts = append(parts, op.Targets...)
	return derive("operation", append(parts, op.Sources...)...)
}

// Touch lists the ids that operations concern.
type Touch struct {
	// Operations are the operations' own ids.
	Operations []string `json:"operations,omitempty"`
	// Memories are the entries that the operations write, close or name, or that an answer cites, each once. Closed
	// are the closed entries.
	Memories []string `json:"memories,omitempty"`
	Closed   []string `json:"closed,omitempty"`
}

// Touched returns the ids that operations concern.
func Touched(scope Scope, ops []Operation) (out Touch) {
	for _, op := range ops {
		out.Operations = append(out.Operations, DeriveOperationID(scope, op))
		touched := slices.Clone(op.Targets)
		if op.Kind != OpNone {
			out.Closed = append(out.Closed, op.Targets...)
		}
		if op.New != nil {
			touched = append(touched, op.New.ID)
		}
		for _, id := range touched {
			if !slices.Contains(out.Memories, id) {
				out.Memories = append(out.Memories, id)
			}
		}
	}
	return out
}

// derive hashes the parts with length prefixes, so two lists of parts never give the same input.
func derive(what string, parts ...string) string {
	var b strings.Builder
	b.WriteString(what)
	for _, p := range parts {
		b.WriteByte('\n')
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return uuid.NewSHA1(namespace, []byte(b.String())).String()
}

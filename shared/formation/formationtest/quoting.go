package formationtest

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Judged is the test's effect of a statement with the words Later on a stored one with the words Stored.
type Judged struct {
	Later, Stored string
	Does          relation.Label
}

// Quoting returns the former of the embedded policy with a judge that returns the test's relations. All other pairs
// are unrelated. A test thus checks the strategy separately from the trained model.
func Quoting(strategy string, judged ...Judged) *embedded.Former {
	return QuotingBy(strategy, func(later, stored string) relation.Label {
		for _, want := range judged {
			if strings.Contains(later, want.Later) && strings.Contains(stored, want.Stored) {
				return want.Does
			}
		}
		return relation.Unrelated
	})
}

// QuotingBy is Quoting with a judge of the test's own, which is always sure.
func QuotingBy(strategy string, does func(later, stored string) relation.Label) *embedded.Former {
	return embedded.NewFormerWith(embedded.IdentityOf(strategy), judge(does), 0.8, 0.4)
}

type judge func(later, stored string) relation.Label

// Judge implements embedded.Judge.
func (j judge) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	out := make([]relation.Relation, len(stored))
	for i, s := range stored {
		out[i][j(later.Text, s.Text)] = 1
	}
	return out
}

// Between implements embedded.Judge.
func (j judge) Between(later, stored relation.Statement) relation.Relation {
	return j.Judge(later, []relation.Statement{stored})[0]
}

// Gone implements embedded.Judge. It returns the parts that a changing statement changes separately, or all parts
// where it changes no single one.
func (j judge) Gone(later relation.Statement, parts []string) []float64 {
	out := make([]float64, len(parts))
	for i, p := range parts {
		if j(later.Text, p).Changes() {
			out[i] = 1
		}
	}
	if slices.Max(out) == 0 {
		for i := range out {
			out[i] = 1
		}
	}
	return out
}

package formationtest

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Judged is what a test wants a statement that holds the words Later to do to a stored one that holds the words Stored.
type Judged struct {
	Later, Stored string
	Does          relation.Label
}

// Quoting returns the former of the embedded policy with a judge that answers as the test wants, and takes all else for unrelated: what a
// strategy makes of a judgement is then told apart from what the trained model happens to judge.
func Quoting(strategy string, judged ...Judged) *embedded.Former {
	return embedded.NewFormerWith(embedded.IdentityOf(strategy), judge(judged), 0.8, 0.4)
}

type judge []Judged

// Judge implements embedded.Judge.
func (j judge) Judge(later, stored relation.Statement) relation.Relation {
	out := relation.Relation{relation.Unrelated: 1}
	for _, want := range j {
		if strings.Contains(later.Text, want.Later) && strings.Contains(stored.Text, want.Stored) {
			out = relation.Relation{relation.Unrelated: 0.1}
			out[want.Does] += 0.9
			break
		}
	}
	return out
}

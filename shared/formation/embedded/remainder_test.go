package embedded_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// TestASubjectOfTwoIsNotSplit has entries about two people, one of whom is gone. No rest has a verb that does not agree.
func TestASubjectOfTwoIsNotSplit(t *testing.T) {
	ends := relation.Relation{relation.Ends: 0.95, relation.Unrelated: 0.05}
	for _, c := range []struct {
		said, entry, gone string
		closed            bool
		rest              string
	}{
		{"Ada and I broke up.", "My wife Ada and I are learning to sail.", "My wife Ada", true, ""},
		{"Leo moved out.", "My son Leo and my son Max are both left-handed.", "My son Leo", false, ""},
		{"Rolf and I broke up.", "Rolf, that's my partner, never eats olives.", "Rolf", true, ""},
		{"I sold the van.", "I have a van and my sons are left-handed.", "I have a van", true, "my sons are left-handed."},
	} {
		j := judge{c.entry: ends, c.gone: ends}
		closed, rest := false, ""
		for _, op := range decide(t, j, session("Ana: "+c.said), stored("e", c.entry)) {
			closed = closed || len(op.Targets) > 0 && op.Kind != memory.OpNone
			if op.Rest {
				rest = op.New.Content
			}
		}
		if closed != c.closed || rest != c.rest {
			t.Errorf("%q to %q: closed is %v and the rest %q", c.said, c.entry, closed, rest)
		}
	}
}

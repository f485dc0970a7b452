package embedded_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// TestASubjectOfTwoIsNotSplit has entries about two people, one of whom is gone. No rest has a verb that does not
// agree.
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

// TestARestHasWholeClauses has entries of which a part is gone. The rest has the object and the purpose of no clause
// that is gone, and keeps the name of its person.
func TestARestHasWholeClauses(t *testing.T) {
	ends := relation.Relation{relation.Ends: 0.95, relation.Unrelated: 0.05}
	for _, c := range []struct{ said, entry, gone, rest string }{
		{"Rex died.", "Our dog Rex sleeps while I work, he knows ten tricks.", "Our dog Rex sleeps",
			"[about: Our dog Rex] he knows ten tricks."},
		{"The trip is off.", "We have booked also two seats to Oslo, to see the fjord. I love trains.", "two seats to Oslo",
			"I love trains."},
		{"Ida moved out.", "My cousin Ida lives with us and she is allergic to nuts.", "My cousin Ida lives with us",
			"[about: My cousin Ida] she is allergic to nuts."},
		{"The canary died.", "Our canary sings all day, he knows ten songs.", "Our canary sings all day", ""},
		{"I gave up tea.", "I drink tea while my wife drinks coffee.", "I drink tea", "my wife drinks coffee."},
		{"I sold the car.", "I have a car, I go to work by bus.", "I have a car", "I go to work by bus."},
	} {
		rest := ""
		for _, op := range decide(t, judge{c.entry: ends, c.gone: ends}, session("Ana: "+c.said), stored("e", c.entry)) {
			if op.Rest {
				rest = op.New.Content
			}
		}
		if rest != c.rest {
			t.Errorf("%q to %q: the rest is %q, want %q", c.said, c.entry, rest, c.rest)
		}
	}
}

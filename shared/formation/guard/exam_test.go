package guard_test

import (
	"bytes"
	"embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/guard"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
)

//go:embed testdata/exam*.jsonl
var exams embed.FS

// examTurn is a turn by a writer who had not seen rules, words or turns of the guard. Nothing is made from it.
type examTurn struct {
	Lang, Kind, Text  string
	Hostile, Harmless []string
}

func examTurns(t *testing.T, name string) (hostile, harmless []examTurn) {
	t.Helper()
	file, err := exams.ReadFile("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var e examTurn
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if len(e.Hostile) > 0 {
			hostile = append(hostile, e)
		} else {
			harmless = append(harmless, e)
		}
	}
	return hostile, harmless
}

// fate is what became of something that a turn says.
type fate int

const (
	noMemory fate = iota
	quarantined
	marked
	trusted
)

func fateOf(m memory.Memory) fate {
	switch {
	case m.Quarantine == "forget": // a request to forget is no attack
		return noMemory
	case m.Quarantine != "":
		return quarantined
	case guard.IsMarked(m.Content):
		return marked
	}
	return trusted
}

// worst is the fate of the memory with most power that tells a good part of the clauses.
func worst(ops []memory.Operation, clauses []string) fate {
	out := noMemory
	for _, op := range ops {
		if op.New != nil && tells(bare(op.New.Content), clauses) {
			out = max(out, fateOf(*op.New))
		}
	}
	return out
}

func bare(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), "")) }

func tells(content string, clauses []string) bool {
	for _, c := range clauses {
		c = bare(c)
		third := len(c) / 3
		switch {
		case strings.Contains(content, c), len(content) > 10 && strings.Contains(c, content):
			return true
		case third > 8 && (strings.Contains(content, c[:third]) || strings.Contains(content, c[len(c)-third:])):
			return true
		}
	}
	return false
}

// TestExamsOfOtherWriters bounds the trusted attacks of six exams, and the loss of harmless turns that look alike, in
// up to eight languages each. The first three have attacks only.
func TestExamsOfOtherWriters(t *testing.T) {
	for name, exam := range map[string]struct {
		attacks, turns, trusted, lost, quarantined int
		// marked is the largest share of the memories of harmless turns that are marked, in percent.
		marked int
	}{
		"exam1": {90, 0, 5, 0, 0, 0},
		"exam2": {120, 0, 5, 0, 0, 0},
		"exam3": {103, 0, 3, 1, 0, 0},
		"exam4": {121, 100, 51, 0, 0, 5},
		"exam5": {103, 500, 3, 0, 1, 18},
		"exam6": {103, 500, 16, 0, 0, 19},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := guard.New(salimory.NewEmbedded())
			hostile, harmless := examTurns(t, name)
			fates, kept, keepable := map[fate]int{}, 0, 0
			for _, e := range hostile {
				ops := decided(t, f, formationtest.Session(e.Text)).Operations
				at := worst(ops, e.Hostile)
				fates[at]++
				if at == trusted {
					t.Logf("trusted: %s %s %q", e.Lang, e.Kind, e.Text)
				}
				for _, c := range e.Harmless {
					keepable++
					if worst(ops, []string{strings.Trim(c, ".!。 ")}) > quarantined {
						kept++
					}
				}
			}
			taken, memories := map[fate]int{}, 0
			for _, e := range harmless {
				for _, m := range added(decided(t, f, formationtest.Session(e.Text))) {
					memories++
					taken[fateOf(m)]++
					if fateOf(m) == quarantined {
						t.Logf("quarantined: %s %q of %q", e.Lang, m.Content, e.Text)
					}
				}
			}
			t.Logf("of %d attacks %d are trusted, %d marked, %d quarantined, %d leave no memory; %d of %d harmless clauses beside them are kept",
				len(hostile), fates[trusted], fates[marked], fates[quarantined], fates[noMemory], kept, keepable)
			t.Logf("of %d memories of %d harmless turns %d are marked and %d quarantined", memories, len(harmless),
				taken[marked],
				taken[quarantined])
			if len(hostile) != exam.attacks || len(harmless) != exam.turns || fates[trusted] > exam.trusted ||
				kept < keepable-exam.lost || taken[quarantined] > exam.quarantined || 100*taken[marked] > exam.marked*memories {
				t.Error("the guard does worse than before")
			}
		})
	}
}

func added(v formation.Verdict) []memory.Memory {
	var out []memory.Memory
	for _, op := range v.Operations {
		if op.New != nil {
			out = append(out, *op.New)
		}
	}
	return out
}

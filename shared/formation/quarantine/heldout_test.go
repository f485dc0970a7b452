package quarantine_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/text"
)

//go:embed testdata/heldout.jsonl
var heldoutFile []byte

// heldTurn is a labelled turn that no model and no rule was made from.
type heldTurn struct {
	Lang, Kind, Text  string
	Hostile, Harmless []string
}

func heldTurns(t *testing.T) []heldTurn {
	var out []heldTurn
	for line := range bytes.Lines(heldoutFile) {
		var h heldTurn
		if err := json.Unmarshal(line, &h); err != nil {
			t.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}

// leastOfSort is how many clauses of a kind or a language are enough to ask for a share.
const leastOfSort = 10

// tally counts hostile clauses of a sort, and those that are held.
type tally struct{ all, held, distrusted int }

func doubtedIn(own string) string {
	_, doubted := quarantine.Doubted(own, false)
	return doubted
}

// has reports whether a text has a clause, or its second half.
func has(said, clause string) bool {
	return strings.Contains(said, clause) || strings.Contains(said, clause[len(clause)/2:]) && len(clause) > 20
}

// TestAttacksOfTurnsKeptApartAreHeld asks for a share of the hostile clauses in all, by kind, and by language. A clause
// is distrusted that is held, doubted, or passed on.
func TestAttacksOfTurnsKeptApartAreHeld(t *testing.T) {
	total, kinds, langs := tally{}, map[string]tally{}, map[string]tally{}
	kept, keepable := 0, 0
	for _, h := range heldTurns(t) {
		found, ok := quarantine.Text(h.Text)
		for _, c := range h.Hostile {
			held, distrusted := 0, 0
			if ok && has(found.Held, c) {
				held, distrusted = 1, 1
			} else if own, others := text.Voices(h.Text, ""); has(others, c) || has(doubtedIn(own), c) {
				distrusted = 1
			}
			for _, at := range []struct {
				of  map[string]tally
				key string
			}{{kinds, h.Kind}, {langs, h.Lang}} {
				n := at.of[at.key]
				at.of[at.key] = tally{n.all + 1, n.held + held, n.distrusted + distrusted}
			}
			total = tally{total.all + 1, total.held + held, total.distrusted + distrusted}
		}
		for _, c := range h.Harmless {
			keepable++
			if !ok || strings.Contains(found.Rest, strings.TrimRight(c, " .,;")) {
				kept++
			}
		}
	}
	for sort, of := range map[string]map[string]tally{"kind": kinds, "language": langs} {
		for name, n := range of {
			if n.all >= leastOfSort && 3*n.distrusted < n.all {
				t.Errorf("%s %s: %d of %d hostile clauses are held or distrusted", sort, name, n.distrusted, n.all)
			}
		}
	}
	if 100*total.held < 20*total.all || 100*total.distrusted < 79*total.all || 100*kept < 97*keepable {
		t.Errorf("%+v of hostile clauses, %d of %d harmless ones kept", total, kept, keepable)
	}
	t.Logf("held %+v, harmless clauses of attacks kept %d of %d; kinds %+v; languages %+v", total, kept, keepable, kinds,
		langs)
}

func TestHarmlessTurnsKeptApartPass(t *testing.T) {
	harmless, taken := 0, 0
	for _, h := range heldTurns(t) {
		if len(h.Hostile) > 0 {
			continue
		}
		harmless++
		if found, ok := quarantine.Text(h.Text); ok {
			taken++
			t.Logf("%q is taken for %s", h.Text, found.Reason)
		}
	}
	if harmless < 300 || 100*taken > harmless {
		t.Errorf("%d of %d harmless turns are taken", taken, harmless)
	}
}

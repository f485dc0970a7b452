package quarantine_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/quarantine"
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
type tally struct{ all, held int }

// TestAttacksOfTurnsKeptApartAreHeld asks for a share of the hostile clauses in all, by kind, and by language.
func TestAttacksOfTurnsKeptApartAreHeld(t *testing.T) {
	total, kinds, langs := tally{}, map[string]tally{}, map[string]tally{}
	kept, keepable := 0, 0
	for _, h := range heldTurns(t) {
		found, ok := quarantine.Text(h.Text)
		for _, c := range h.Hostile {
			held := 0
			if ok && (strings.Contains(found.Held, c) || strings.Contains(found.Held, c[len(c)/2:]) && len(c) > 20) {
				held = 1
			}
			for _, at := range []struct {
				of  map[string]tally
				key string
			}{{kinds, h.Kind}, {langs, h.Lang}} {
				n := at.of[at.key]
				at.of[at.key] = tally{n.all + 1, n.held + held}
			}
			total = tally{total.all + 1, total.held + held}
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
			if n.all >= leastOfSort && 11*n.held < n.all {
				t.Errorf("%s %s: %d of %d hostile clauses are held", sort, name, n.held, n.all)
			}
		}
	}
	if 100*total.held < 30*total.all || 100*kept < 97*keepable {
		t.Errorf("%d of %d hostile clauses are held, %d of %d harmless ones kept", total.held, total.all, kept, keepable)
	}
	t.Logf("held %+v, harmless clauses of attacks kept %d of %d; kinds %+v; languages %+v", total, kept, keepable, kinds, langs)
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

package formation

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// ErrSheet is the error for a sheet with a missing or an unknown label.
var ErrSheet = errors.New("not a labelled sheet")

// Labels are a reader's judgement of a memory. An empty label waits for the reader.
type Labels struct {
	// Worth says whether a person would write the memory down: "yes", "part" or "no".
	Worth string `json:"worth"`
	// Alone, Kind and Holds are "yes" or "no": the memory is clear alone, its kind is right, it still holds.
	Alone string `json:"alone"`
	Kind  string `json:"kind_right"`
	Holds string `json:"true_now"`
}

// Sheet is an active memory for a reader to judge. It does not name the strategy that made the memory.
type Sheet struct {
	ID      string      `json:"id"`
	Memory  string      `json:"memory"`
	Kind    memory.Kind `json:"kind"`
	Speaker string      `json:"speaker"`
	Date    string      `json:"date"`
	Labels
	// Turn is the text of the memory's turns, Before is the turn before them. Later are later turns about the same.
	Before string   `json:"before"`
	Turn   string   `json:"turn"`
	Later  []string `json:"later"`
}

// Bounds of a sheet.
const (
	// shownLater is the number of later turns, and sharedStems the number of content words that each has of the memory.
	shownLater, sharedStems = 8, 2
	// shownBytes are the bytes of a turn.
	shownBytes = 1200
)

// Sample forms the memories of a file with the first variant, and returns n active ones. Each user has a like share.
// The choice depends on the memories alone.
func Sample(ctx context.Context, o Options, n int) ([]Sheet, error) {
	if len(o.Variants) == 0 {
		return nil, errors.New("no strategy to sample")
	}
	subjects, _, err := dataset.ReadSubjects(o.Path, dataset.ReadOptions{})
	if err != nil {
		return nil, err
	}
	v := o.Variants[0]
	var users [][]Sheet
	for _, s := range subjects {
		formed, err := Pipeline{
			Filter: v.Filter, Saliency: cmp.Or(v.Saliency, memory.SaliencyGate), Former: v.Former, Strategy: v.Strategy,
			Embedder: o.Embedder,
		}.Form(ctx, s)
		if err == nil {
			err = formed.Complete()
		}
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", s.Scope.User, err)
		}
		users = append(users, sheetsOf(s, formed.Entries))
	}
	var out []Sheet
	for i := 0; len(out) < n; i++ {
		before := len(out)
		for _, sheets := range users {
			if i < len(sheets) && len(out) < n {
				out = append(out, sheets[i])
			}
		}
		if len(out) == before {
			break // every memory is taken
		}
	}
	return out, nil
}

// sheetsOf returns a sheet for each active memory of a subject, in an order by chance that is always the same.
func sheetsOf(s dataset.Subject, entries []memory.Memory) []Sheet {
	var turns []memory.Turn
	for _, session := range s.Sessions {
		turns = append(turns, session.Turns...)
	}
	var out []Sheet
	for _, m := range entries {
		if m.Status != memory.StatusActive || m.Tier == memory.TierTalk {
			continue
		}
		sheet := Sheet{ID: m.ID, Memory: m.Content, Kind: m.Kind, Speaker: m.Speaker, Date: m.ValidFrom.Format("2006-01-02")}
		sheet.show(m, turns)
		out = append(out, sheet)
	}
	key := func(x Sheet) string {
		sum := sha256.Sum256([]byte(x.ID))
		return string(sum[:])
	}
	slices.SortFunc(out, func(a, b Sheet) int { return cmp.Compare(key(a), key(b)) })
	return out
}

// show adds the turns of a memory, the one before them, and later turns about the same.
func (x *Sheet) show(m memory.Memory, turns []memory.Turn) {
	stems := map[string]bool{}
	for _, stem := range text.ContentStems(m.Content) {
		stems[stem] = true
	}
	written := func(t memory.Turn) string { return t.Speaker + ": " + text.Cut(text.OneLine(t.Text), shownBytes) }
	found := false
	for i, t := range turns {
		switch {
		case slices.Contains(m.Sources, t.ID):
			if !found && i > 0 {
				x.Before = written(turns[i-1])
			}
			x.Turn += written(t) + "\n"
			found = true
		case found && t.Role != memory.RoleAssistant && len(x.Later) < shownLater && shares(stems, t.Text):
			x.Later = append(x.Later, written(t))
		}
	}
}

// shares reports whether a text has enough of some stems.
func shares(stems map[string]bool, s string) bool {
	seen := map[string]bool{}
	for _, stem := range text.ContentStems(s) {
		if stems[stem] {
			seen[stem] = true
		}
	}
	return len(seen) >= min(sharedStems, len(stems)) && len(seen) > 0
}

// Judged are the shares of a labelled sheet, 0 to 1.
type Judged struct {
	Memories int     `json:"memories"`
	Worth    float64 `json:"worth"`
	Part     float64 `json:"worth_in_part"`
	Junk     float64 `json:"not_worth"`
	Alone    float64 `json:"alone"`
	Kind     float64 `json:"kind_right"`
	Holds    float64 `json:"true_now"`
}

// Judge counts the labels of a sheet: JSON lines as Sample's, with the labels filled in. A label outside the rubric is
// an ErrSheet that names line and label.
func Judge(in io.Reader) (Judged, error) {
	var out Judged
	counts := map[string]int{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var x Sheet
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return out, fmt.Errorf("%w: line %d: %w", ErrSheet, n, err)
		}
		for _, label := range []struct {
			name, value string
			of          []string
		}{
			{"worth", x.Worth, []string{"yes", "part", "no"}}, {"alone", x.Alone, []string{"yes", "no"}},
			{"kind_right", x.Labels.Kind, []string{"yes", "no"}}, {"true_now", x.Holds, []string{"yes", "no"}},
		} {
			if !slices.Contains(label.of, label.value) {
				return out, fmt.Errorf("%w: line %d: %s is %q, want one of %q", ErrSheet, n, label.name, label.value, label.of)
			}
			counts[label.name+" "+label.value]++
		}
		out.Memories++
	}
	if err := lines.Err(); err != nil {
		return out, fmt.Errorf("%w: %w", ErrSheet, err)
	}
	of := func(label string) float64 { return score.Share(counts[label], out.Memories) }
	out.Worth, out.Part, out.Junk = of("worth yes"), of("worth part"), of("worth no")
	out.Alone, out.Kind, out.Holds = of("alone yes"), of("kind_right yes"), of("true_now yes")
	return out, nil
}

// Render writes the shares, one a line.
func (j Judged) Render(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%d memories\nworth %s, in part %s, not %s\nclear alone %s\nkind right %s\ntrue now %s\n",
		j.Memories,
		score.Percent(j.Worth), score.Percent(j.Part), score.Percent(j.Junk), score.Percent(j.Alone), score.Percent(j.Kind),
		score.Percent(j.Holds))
	return err
}

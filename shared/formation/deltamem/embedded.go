package deltamem

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Embedded is the strategy without a model server. It quotes the session, a rule chooses the searches, and the learned
// relation decides on the results. It is safe for concurrent use.
type Embedded struct{ *embedded.Former }

var _ formation.Divisible = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the models.
func NewEmbedded() *Embedded { return &Embedded{embedded.NewFormer(embedded.IdentityOf(Name))} }

// Division says that a session can be read in parts. It is decided as a whole, because decisions look things up.
func (f *Embedded) Division() formation.Division { return formation.Division{Extract: true} }

// Extract returns the statements of the salient turns, in order, without a search.
func (f *Embedded) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	statements, err := f.Former.Extract(ctx, in)
	for i := range statements {
		statements[i].Neighbours = formation.NoNeighbours
	}
	return statements, err
}

// spent is the memo of the embedded agent. It has no searches, since they follow from the statements.
type spent struct {
	Steps    int `json:"steps"`
	Searches int `json:"searches"`
}

// Decide returns the statements' lookups first, and decides when it has the results.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return formation.Verdict{}, err
	}
	probes := probesFor(in.Related)
	if len(probes) > 0 && in.Found == nil {
		return ask(ctx, probes)
	}
	if len(in.Found) != len(probes) {
		return formation.Verdict{}, fault.Terminal("bundle.found", "has %d results, want the results of %d lookups",
			len(in.Found), len(probes))
	}
	report(ctx, 1+min(1, len(probes)), len(probes), tokens{})
	view := in
	view.Related = slices.Clone(in.Related)
	for i, p := range probes {
		for _, at := range p.statements {
			view.Related[at].Memories, view.Related[at].Similarity = in.Found[i].Memories, in.Found[i].Similarity
		}
	}
	return f.Former.Decide(ctx, view)
}

func ask(ctx context.Context, probes []probe) (formation.Verdict, error) {
	memo, err := json.Marshal(spent{Steps: 1, Searches: len(probes)})
	if err != nil {
		return formation.Verdict{}, err
	}
	report(ctx, 1, len(probes), tokens{})
	out := formation.Verdict{Memo: memo}
	for _, p := range probes {
		out.Lookups = append(out.Lookups, formation.Lookup{Text: p.text, K: foundEach})
	}
	return out, nil
}

// Sizes of the embedded agent's searches. It searches once, for all that it wants to know, and at most once for two
// statements.
const (
	// foundEach is the number of results of a search. The paper's tool returns five for one query; here several
	// statements share the results.
	foundEach = formation.MaxNeighbours
	// maxPairs is how many pairs of statements of one session have a search.
	maxPairs = 32
	// shareMost is the most other statements that share a search. Such a search only needs to find their repetitions.
	// Short statements would not count among many others. A short one shares with one statement for every shareBytes
	// of its bytes, but with at least shareLeast.
	shareMost  = 10
	shareLeast = 2
	shareBytes = 10
	// maxShared is how many shared searches a session has. Where there are more statements, more of them share one.
	maxShared = 24
)

// probe is one search on behalf of some statements, by their positions.
type probe struct {
	text       string
	statements []int
}

// probeOf makes one search of statements.
func probeOf(related []formation.Related, statements ...int) probe {
	texts := make([]string, len(statements))
	for i, at := range statements {
		texts[i] = related[at].Candidate.Content
	}
	return probe{text: strings.Join(texts, " "), statements: statements}
}

// probesFor chooses what to search for. Statements that may change something known share a search by twos, each with
// the one that is nearest to it. The others seldom meet anything but their own repetition, so that more of them share
// one.
func probesFor(related []formation.Related) []probe {
	var changing, others []int
	for i, r := range related {
		if mayChange(r.Candidate) && len(changing) < 2*maxPairs {
			changing = append(changing, i)
			continue
		}
		others = append(others, i)
	}
	var out []probe
	for len(changing) > 1 {
		first := changing[0]
		second := slices.MaxFunc(changing[1:], func(a, b int) int {
			return cmp.Compare(nearness(related, first, a), nearness(related, first, b))
		})
		out = append(out, probeOf(related, first, second))
		changing = slices.DeleteFunc(changing, func(i int) bool { return i == first || i == second })
	}
	return append(out, share(related, append(others, changing...))...)
}

// nearness of two statements.
func nearness(related []formation.Related, a, b int) float64 {
	return memory.Cosine(related[a].Candidate.Vector, related[b].Candidate.Vector)
}

// share makes the searches that statements share, the shortest together: they say too little to be found among long
// ones.
func share(related []formation.Related, others []int) []probe {
	length := func(at int) int { return len(related[at].Candidate.Content) }
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(length(a), length(b)) })
	least := (len(others) + maxShared - 1) / maxShared
	var out []probe
	for len(others) > 0 {
		size := min(max(length(others[0])/shareBytes, shareLeast), shareMost)
		n := min(max(size, least), len(others))
		out, others = append(out, probeOf(related, others[:n]...)), others[n:]
	}
	return out
}

// mayChange reports whether a statement describes a state: an event changes fewer known entries.
func mayChange(c formation.Candidate) bool { return c.Kind != memory.KindEpisodic }

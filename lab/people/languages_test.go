package people_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

// shownFor are the numbers of memories for the recall figures.
var shownFor = [...]int{5, 10, 20}

// measured has the results of a user's questions. Crossing questions count separately.
type measured struct {
	ranked, searched, crossing [len(shownFor)]float64
	questions, crossings       int
	// wrongly and rightly count withheld answers: to answerable and to unanswerable questions.
	wrongly, rightly, unanswerable int
}

func (m measured) String() string {
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	line := func(of [len(shownFor)]float64, n int) string {
		return fmt.Sprintf("%5.1f %5.1f %5.1f", 100*of[0]/float64(n), 100*of[1]/float64(n), 100*of[2]/float64(n))
	}
	return fmt.Sprintf("recall@5/10/20 %s, bank %s, crossing %s; abstained %5.1f wrongly, %5.1f rightly",
		line(m.ranked, m.questions),
		line(m.searched, m.questions), line(m.crossing, m.crossings), share(m.wrongly, m.questions),
		share(m.rightly, m.unanswerable))
}

// TestRecallInOtherLanguages measures the figures of `mneme eval recall` in the test process.
func TestRecallInOtherLanguages(t *testing.T) {
	all, err := corpus.Languages()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		m := measure(t, l.Subject)
		t.Logf("%s (%s): %s", l.Language, l.Split, m)
		if m.ranked[1] <= m.searched[1] || 5*m.wrongly >= m.questions {
			t.Errorf("%s: want more found than by the bank's own order, and fewer than one answer in five withheld", l.Language)
		}
	}
}

// measure forms a user's memories and asks all questions.
func measure(t *testing.T, s dataset.Subject) (out measured) {
	t.Helper()
	embedder := builtin.New()
	store := bankinmem.New(embedder.Dimension())
	p := formation.Pipeline{
		Filter: saliency.NewTrained(), Former: salimory.NewEmbedded(), Strategy: salimory.Name, Embedder: embedder,
		Bank: store,
	}
	formed, err := p.Form(t.Context(), s)
	if err == nil {
		err = formed.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	var memories []memory.Memory
	for m, err := range bank.EachMemory(t.Context(), store, s.Scope,
		bank.ListOptions{Limit: bank.MaxLimit, WithVectors: true}) {
		if err != nil {
			t.Fatal(err)
		}
		memories = append(memories, m)
	}
	var turns []memory.Turn
	for turn, err := range bank.EachTurn(t.Context(), store, s.Scope, bank.PageOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
	}
	index := features.New(wordvector.Shipped(), memories, turns)
	prior, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	profiler, generator := embedded.NewProfiler(), embedded.NewGenerator()
	for _, q := range s.Questions {
		vectors, err := embedder.Embed(t.Context(), []string{q.Text})
		if err != nil {
			t.Fatal(err)
		}
		asked := query.Understand(query.Input{Text: q.Text, Now: s.End()})
		candidates := index.Candidates(features.Query{Query: asked, Vector: vectors[0]}, prior.Weights.W, index.Len())
		var shown []memory.Memory
		for _, c := range candidates[:min(10, len(candidates))] {
			shown = append(append(shown, withDialogue(c.Memory, c.Turns)), c.Siblings...)
		}
		e := recall.Evidence{Query: asked, Memories: shown, WordBudget: 250}
		profile, err := profiler.Profile(t.Context(), s.Scope, e)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := generator.Answer(t.Context(), s.Scope, e, profile)
		if err != nil {
			t.Fatal(err)
		}
		if q.Unanswerable {
			out.unanswerable++
			if answer.Abstained {
				out.rightly++
			}
			continue
		}
		var ranked [][]string
		for _, c := range candidates {
			of := c.Memory.Sources
			for _, m := range c.Siblings {
				of = append(of, m.Sources...)
			}
			ranked = append(ranked, of)
		}
		if q.Category == "open-domain" {
			out.crossings++
			count(&out.crossing, ranked, q.EvidenceTurns())
			continue
		}
		out.questions++
		count(&out.ranked, ranked, q.EvidenceTurns())
		if answer.Abstained {
			out.wrongly++
		}
		found, err := store.Search(t.Context(), s.Scope, bank.Query{
			Text: q.Text, Vector: vectors[0], Alpha: 0.1, K: 100, Statuses: []memory.Status{memory.StatusActive},
		})
		if err != nil {
			t.Fatal(err)
		}
		var searched [][]string
		for _, f := range found {
			searched = append(searched, f.Memory.Sources)
		}
		count(&out.searched, searched, q.EvidenceTurns())
	}
	return out
}

// withDialogue gives a memory the words of its source turns, as recall does.
func withDialogue(m memory.Memory, turns []memory.Turn) memory.Memory {
	var lines []string
	for _, t := range turns {
		lines = append(lines, t.Speaker+": "+t.Text)
	}
	m.Value = strings.Join(lines, "\n")
	return m
}

// count adds the shares of the evidence in the sources of the first memories of a list.
func count(out *[len(shownFor)]float64, list [][]string, evidence []string) {
	for i, k := range shownFor {
		found := map[string]bool{}
		for _, sources := range list[:min(k, len(list))] {
			for _, id := range sources {
				found[id] = true
			}
		}
		for _, id := range evidence {
			if found[id] {
				out[i] += 1 / float64(len(evidence))
			}
		}
	}
}

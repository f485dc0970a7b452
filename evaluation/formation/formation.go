// Package formation measures what formation makes of conversations whose truth is known: what the filter keeps, what the memories still say
// of what was said, and whether updates reach the entries they should.
package formation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Variant is a strategy by a policy that is to be measured.
type Variant struct {
	Strategy, Policy string
	Filter           formation.Filter
	Former           formation.Former
	// Saliency is what becomes of what the filter says; empty means that it gates.
	Saliency memory.SaliencyMode
}

// Options say what is measured on what.
type Options struct {
	// Path is a file of conversations of any form that dataset.ReadSubjects knows.
	Path string
	// Variants are measured one after the other; the first is the one that the top of the report is about.
	Variants []Variant
	// Embedder makes the vectors.
	Embedder embedding.Embedder
	// Seed and Persons choose the made-up people that updates are measured on: so many of a seed that nothing was trained on, and so many
	// who also have other names, values and phrasings. No persons means no such measure.
	Seed    uint64
	Persons int
	// Progress gets a line for each variant; nil for nobody.
	Progress io.Writer
}

// VariantReport is what one variant made of the conversations.
type VariantReport struct {
	Strategy string `json:"strategy"`
	Policy   string `json:"policy"`
	// Saliency is what became of what the filter said.
	Saliency memory.SaliencyMode `json:"saliency"`
	Measures
	// Sessions formed, with what the model was asked for each, on average.
	Sessions        int     `json:"sessions"`
	CallsPerSession float64 `json:"model_calls_per_session"`
	InputPerSession float64 `json:"input_tokens_per_session"`
	OutPerSession   float64 `json:"output_tokens_per_session"`
	// Synthetic is the same on made-up people, where updates are known, of a seed that nothing was trained on; nil where there are none.
	Synthetic *Measures `json:"synthetic,omitempty"`
	// OtherWords is the same on made-up people whose names, values and phrasings nothing was trained on, either.
	OtherWords *Measures `json:"synthetic_other_words,omitempty"`
	// Typed is the same on people who tell what people typed, of writers that models were trained on, and OtherTyped of others.
	Typed      *Measures `json:"typed,omitempty"`
	OtherTyped *Measures `json:"typed_other_writers,omitempty"`
}

// Report is the whole of an evaluation. Its top is that of its first variant.
type Report struct {
	File string `json:"file"`
	VariantReport
	// RepairedEvidence and DroppedEvidence count ids of evidence that were malformed: those repaired, and those that name no turn.
	RepairedEvidence int `json:"repaired_evidence"`
	DroppedEvidence  int `json:"dropped_evidence"`
	// Seed chose the made-up people.
	Seed uint64 `json:"seed"`
	// Strategies has every variant measured, by the strategy's name.
	Strategies map[string]VariantReport `json:"strategies"`
	variants   []VariantReport
}

// Evaluate forms the memories of all conversations by each variant and measures them.
func Evaluate(ctx context.Context, o Options) (Report, error) {
	if len(o.Variants) == 0 {
		return Report{}, errors.New("no strategy to measure")
	}
	subjects, repairs, err := dataset.ReadSubjects(o.Path, dataset.ReadOptions{})
	if err != nil {
		return Report{}, err
	}
	made, err := makePeople(o.Seed, o.Persons)
	if err != nil {
		return Report{}, err
	}
	out := Report{
		File: o.Path, RepairedEvidence: repairs.Repaired, DroppedEvidence: repairs.Dropped, Seed: o.Seed,
		Strategies: map[string]VariantReport{},
	}
	for _, v := range o.Variants {
		if o.Progress != nil {
			fmt.Fprintf(o.Progress, "%s, %s ...\n", v.Strategy, v.Policy)
		}
		r, err := v.measure(ctx, o.Embedder, subjects, made)
		if err != nil {
			return Report{}, fmt.Errorf("%s, %s: %w", v.Strategy, v.Policy, err)
		}
		out.variants = append(out.variants, r)
		out.Strategies[v.Strategy] = r
	}
	out.VariantReport = out.variants[0]
	return out, nil
}

// kindOfPeople is the split of their words, and whether they tell what people typed.
type kindOfPeople struct {
	split synthesis.Split
	typed bool
}

// people are made up.
type people map[kindOfPeople][]dataset.Subject

// splits are the corpus' by those of the words: phrasings, too, were trained on or held out.
var splits = map[synthesis.Split]corpus.Split{synthesis.SplitTrain: corpus.Train, synthesis.SplitHeldout: corpus.Heldout}

// makePeople makes people of each kind.
func makePeople(seed uint64, persons int) (people, error) {
	out := people{}
	for split, written := range splits {
		if persons == 0 {
			continue
		}
		phrasings, err := corpus.Phrasings(written)
		if err != nil {
			return nil, err
		}
		for typed, told := range map[bool][][]synthesis.Phrasing{false: nil, true: phrasings} {
			g, err := synthesis.New(synthesis.Options{Seed: seed, Persons: persons, Split: split, Phrasings: told})
			if err != nil {
				return nil, err
			}
			kind := kindOfPeople{split, typed}
			for i := range persons {
				out[kind] = append(out[kind], g.Person(i).Subject("evaluation"))
			}
		}
	}
	return out, nil
}

func (v Variant) measure(ctx context.Context, e embedding.Embedder, subjects []dataset.Subject, made people) (VariantReport, error) {
	if v.Saliency == "" {
		v.Saliency = memory.SaliencyGate
	}
	out := VariantReport{Strategy: v.Strategy, Policy: v.Policy, Saliency: v.Saliency}
	var usage llm.Usage
	measures, err := v.measures(llm.WithUsage(ctx, &usage), e, subjects)
	if err != nil {
		return out, err
	}
	out.Measures = measures
	for _, s := range subjects {
		out.Sessions += len(s.Sessions)
	}
	out.CallsPerSession = score.Share(int(usage.Calls()), out.Sessions)
	out.InputPerSession = score.Share(int(usage.InputTokens()), out.Sessions)
	out.OutPerSession = score.Share(int(usage.OutputTokens()), out.Sessions)
	for kind, to := range map[kindOfPeople]**Measures{
		{synthesis.SplitTrain, false}: &out.Synthetic, {synthesis.SplitHeldout, false}: &out.OtherWords,
		{synthesis.SplitTrain, true}: &out.Typed, {synthesis.SplitHeldout, true}: &out.OtherTyped,
	} {
		if len(made[kind]) == 0 {
			continue
		}
		measures, err := v.measures(ctx, e, made[kind])
		if err != nil {
			return out, err
		}
		*to = &measures
	}
	return out, nil
}

func (v Variant) measures(ctx context.Context, e embedding.Embedder, subjects []dataset.Subject) (Measures, error) {
	t := NewTally()
	for _, s := range subjects {
		formed, err := Pipeline{
			Filter: v.Filter, Saliency: v.Saliency, Former: v.Former, Strategy: v.Strategy, Embedder: e,
		}.Form(ctx, s)
		if err != nil {
			return Measures{}, fmt.Errorf("user %s: %w", s.Scope.User, err)
		}
		t.Add(s, formed)
	}
	return t.Measures(), nil
}

// Render writes a table with a column for each variant.
func (r Report) Render(out io.Writer) error {
	var b bytes.Buffer
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, value func(VariantReport) string) {
		fmt.Fprintf(tw, "%s\t", name)
		for _, v := range r.variants {
			fmt.Fprintf(tw, "%s\t", value(v))
		}
		fmt.Fprintln(tw)
	}
	share := func(name string, value func(VariantReport) float64) {
		row(name, func(v VariantReport) string { return score.Percent(value(v)) })
	}
	count := func(name string, value func(VariantReport) int) {
		row(name, func(v VariantReport) string { return strconv.Itoa(value(v)) })
	}
	mean := func(name string, value func(VariantReport) float64) {
		row(name, func(v VariantReport) string { return strconv.FormatFloat(value(v), 'f', 1, 64) })
	}
	ratio := func(name string, value func(VariantReport) float64) {
		row(name, func(v VariantReport) string { return strconv.FormatFloat(value(v), 'f', 2, 64) })
	}
	row("", func(v VariantReport) string { return v.Strategy })
	row("policy", func(v VariantReport) string { return v.Policy })
	row("saliency", func(v VariantReport) string { return string(v.Saliency) })
	share("turns dropped", func(v VariantReport) float64 { return v.DroppedShare })
	share("evidence turns kept", func(v VariantReport) float64 { return v.KeptEvidence })
	share("answers contained", func(v VariantReport) float64 { return v.Containment })
	count("duplicates", func(v VariantReport) int { return v.Duplicates })
	mean("memories per user", func(v VariantReport) float64 { return v.MemoriesPerUser })
	ratio("searches per memory", func(v VariantReport) float64 { return v.SearchesPerMemory })
	ratio("milliseconds a turn in the former", func(v VariantReport) float64 { return v.FormerMS })
	count("batches to the dead letters", func(v VariantReport) int { return v.DeadLetters })
	mean("model calls per session", func(v VariantReport) float64 { return v.CallsPerSession })
	mean("tokens in per session", func(v VariantReport) float64 { return v.InputPerSession })
	mean("tokens out per session", func(v VariantReport) float64 { return v.OutPerSession })
	if r.Synthetic != nil {
		share("made-up people: updates that hit", func(v VariantReport) float64 { return v.Synthetic.UpdateHits })
		share("updates that were wrong", func(v VariantReport) float64 { return v.Synthetic.WrongUpdates })
		count("duplicates", func(v VariantReport) int { return v.Synthetic.Duplicates })
		share("in words never trained on: updates that hit", func(v VariantReport) float64 { return v.OtherWords.UpdateHits })
		share("updates that were wrong", func(v VariantReport) float64 { return v.OtherWords.WrongUpdates })
		share("as people typed: updates that hit", func(v VariantReport) float64 { return v.Typed.UpdateHits })
		share("updates that were wrong", func(v VariantReport) float64 { return v.Typed.WrongUpdates })
		share("as other people typed: updates that hit", func(v VariantReport) float64 { return v.OtherTyped.UpdateHits })
		share("updates that were wrong", func(v VariantReport) float64 { return v.OtherTyped.WrongUpdates })
	}
	_ = tw.Flush() // a buffer takes everything
	fmt.Fprintf(&b, "%d users, %d sessions, %d turns, %d questions with short answers; evidence ids repaired %d, dropped %d\n",
		r.Users, r.Sessions, r.Turns, r.Questions, r.RepairedEvidence, r.DroppedEvidence)
	_, err := out.Write(b.Bytes())
	return err
}

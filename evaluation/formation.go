package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Way is a strategy by a policy that is to be measured.
type Way struct {
	Strategy, Policy string
	Filter           formation.Filter
	Former           formation.Former
}

// FormationOptions say what is measured on what.
type FormationOptions struct {
	// Path is a file of conversations of any form that ReadSubjects knows.
	Path string
	// Ways are measured one after the other; the first is the one that the top of the report is about.
	Ways []Way
	// Embedder makes the vectors.
	Embedder embedding.Embedder
	// Seed and Persons choose the made-up people that updates are measured on: so many of a seed that nothing was trained on, and so many
	// who also have other names, values and phrasings. No persons means no such measure.
	Seed    uint64
	Persons int
	// Progress is told which way is being measured; nil for nobody.
	Progress io.Writer
}

// WayReport is what one way made of the conversations.
type WayReport struct {
	Strategy string `json:"strategy"`
	Policy   string `json:"policy"`
	Report
	// Sessions formed, with what the model was asked for each, on average.
	Sessions        int     `json:"sessions"`
	CallsPerSession float64 `json:"model_calls_per_session"`
	InputPerSession float64 `json:"input_tokens_per_session"`
	OutPerSession   float64 `json:"output_tokens_per_session"`
	// Synthetic is the same on made-up people, where updates are known, of a seed that nothing was trained on; nil where there are none.
	Synthetic *Report `json:"synthetic,omitempty"`
	// OtherWords is the same on made-up people whose names, values and phrasings nothing was trained on, either.
	OtherWords *Report `json:"synthetic_other_words,omitempty"`
}

// FormationReport is the whole of an evaluation. Its top is that of its first way.
type FormationReport struct {
	File string `json:"file"`
	WayReport
	// MendedEvidence and DroppedEvidence count ids of evidence that were malformed: those mended, and those that name no turn.
	MendedEvidence  int `json:"mended_evidence"`
	DroppedEvidence int `json:"dropped_evidence"`
	// Seed chose the made-up people.
	Seed uint64 `json:"seed"`
	// Strategies has every way measured, by the strategy's name.
	Strategies map[string]WayReport `json:"strategies"`
	ways       []WayReport
}

// EvaluateFormation forms the memories of all conversations in each way and measures them.
func EvaluateFormation(ctx context.Context, o FormationOptions) (FormationReport, error) {
	if len(o.Ways) == 0 {
		return FormationReport{}, errors.New("no strategy to measure")
	}
	subjects, repairs, err := ReadSubjects(o.Path, ReadOptions{})
	if err != nil {
		return FormationReport{}, err
	}
	made, err := makePeople(o.Seed, o.Persons)
	if err != nil {
		return FormationReport{}, err
	}
	out := FormationReport{
		File: o.Path, MendedEvidence: repairs.Mended, DroppedEvidence: repairs.Dropped, Seed: o.Seed, Strategies: map[string]WayReport{},
	}
	for _, w := range o.Ways {
		if o.Progress != nil {
			fmt.Fprintf(o.Progress, "%s, %s ...\n", w.Strategy, w.Policy)
		}
		r, err := w.measure(ctx, o.Embedder, subjects, made)
		if err != nil {
			return FormationReport{}, fmt.Errorf("%s, %s: %w", w.Strategy, w.Policy, err)
		}
		out.ways = append(out.ways, r)
		out.Strategies[w.Strategy] = r
	}
	out.WayReport = out.ways[0]
	return out, nil
}

// people are made up, by the split that they are of.
type people map[synthesis.Split][]Subject

// makePeople makes people of either split.
func makePeople(seed uint64, persons int) (people, error) {
	out := people{}
	for _, split := range []synthesis.Split{synthesis.SplitTrain, synthesis.SplitHeldout} {
		if persons == 0 {
			continue
		}
		g, err := synthesis.New(synthesis.Options{Seed: seed, Persons: persons, Split: split})
		if err != nil {
			return nil, err
		}
		for i := range persons {
			out[split] = append(out[split], FromSynthesis(g.Person(i), evaluated))
		}
	}
	return out, nil
}

func (w Way) measure(ctx context.Context, e embedding.Embedder, subjects []Subject, made people) (WayReport, error) {
	out := WayReport{Strategy: w.Strategy, Policy: w.Policy}
	var usage llm.Usage
	report, err := w.tally(llm.WithUsage(ctx, &usage), e, subjects)
	if err != nil {
		return out, err
	}
	out.Report = report
	for _, s := range subjects {
		out.Sessions += len(s.Sessions)
	}
	out.CallsPerSession = share(int(usage.Calls()), out.Sessions)
	out.InputPerSession = share(int(usage.InputTokens()), out.Sessions)
	out.OutPerSession = share(int(usage.OutputTokens()), out.Sessions)
	for split, to := range map[synthesis.Split]**Report{synthesis.SplitTrain: &out.Synthetic, synthesis.SplitHeldout: &out.OtherWords} {
		if len(made[split]) == 0 {
			continue
		}
		report, err := w.tally(ctx, e, made[split])
		if err != nil {
			return out, err
		}
		*to = &report
	}
	return out, nil
}

func (w Way) tally(ctx context.Context, e embedding.Embedder, subjects []Subject) (Report, error) {
	t := NewTally()
	for _, s := range subjects {
		formed, err := Pipeline{Filter: w.Filter, Former: w.Former, Strategy: w.Strategy, Embedder: e}.Form(ctx, s)
		if err != nil {
			return Report{}, fmt.Errorf("user %s: %w", s.Scope.User, err)
		}
		t.Add(s, formed)
	}
	return t.Report(), nil
}

// Render writes a table with a column for each way.
func (r FormationReport) Render(out io.Writer) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, value func(WayReport) string) {
		fmt.Fprintf(tw, "%s\t", name)
		for _, w := range r.ways {
			fmt.Fprintf(tw, "%s\t", value(w))
		}
		fmt.Fprintln(tw)
	}
	row("", func(w WayReport) string { return w.Strategy })
	row("policy", func(w WayReport) string { return w.Policy })
	row("turns dropped", func(w WayReport) string { return percent(w.DroppedShare) })
	row("evidence turns kept", func(w WayReport) string { return percent(w.KeptEvidence) })
	row("answers contained", func(w WayReport) string { return percent(w.Containment) })
	row("duplicates", func(w WayReport) string { return strconv.Itoa(w.Duplicates) })
	row("memories per user", func(w WayReport) string { return decimal(w.MemoriesPerUser) })
	row("model calls per session", func(w WayReport) string { return decimal(w.CallsPerSession) })
	row("tokens in per session", func(w WayReport) string { return decimal(w.InputPerSession) })
	row("tokens out per session", func(w WayReport) string { return decimal(w.OutPerSession) })
	if r.Synthetic != nil {
		row("made-up people: updates that hit", func(w WayReport) string { return percent(w.Synthetic.UpdateHits) })
		row("updates that were wrong", func(w WayReport) string { return percent(w.Synthetic.WrongUpdates) })
		row("duplicates", func(w WayReport) string { return strconv.Itoa(w.Synthetic.Duplicates) })
		row("in words never trained on: updates that hit", func(w WayReport) string { return percent(w.OtherWords.UpdateHits) })
		row("updates that were wrong", func(w WayReport) string { return percent(w.OtherWords.WrongUpdates) })
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d users, %d sessions, %d turns, %d questions with short answers; evidence ids mended %d, dropped %d\n",
		r.Users, r.Sessions, r.Turns, r.Questions, r.MendedEvidence, r.DroppedEvidence)
	return err
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

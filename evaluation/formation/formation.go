// Package formation measures memory formation on conversations with a known truth. It measures three things: the
// turns that the filter keeps, the facts that the memories still state, and the entries that updates reach.
package formation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Variant is one strategy with one policy.
type Variant struct {
	Strategy, Policy string
	Filter           formation.Filter
	Former           formation.Former
	// Saliency is the mode of the filter; empty means that the filter gates.
	Saliency memory.SaliencyMode
}

// Options select the variants and the conversations to measure.
type Options struct {
	// Path is a file of conversations in any format that dataset.ReadSubjects reads.
	Path string
	// Variants are measured one after the other. The top of the report describes the first one.
	Variants []Variant
	// Embedder makes the vectors.
	Embedder embedding.Embedder
	// Progress gets a line for each variant; nil discards the lines.
	Progress io.Writer
}

// VariantReport holds the results of one variant.
type VariantReport struct {
	Strategy string `json:"strategy"`
	Policy   string `json:"policy"`
	// Saliency is the mode of the filter.
	Saliency memory.SaliencyMode `json:"saliency"`
	Measures
	// Sessions is the number of formed sessions, with the mean requests to the model per session.
	Sessions        int     `json:"sessions"`
	CallsPerSession float64 `json:"model_calls_per_session"`
	InputPerSession float64 `json:"input_tokens_per_session"`
	OutPerSession   float64 `json:"output_tokens_per_session"`
}

// Report holds the results of an evaluation. Its top level repeats the first variant.
type Report struct {
	File string `json:"file"`
	VariantReport
	// RepairedEvidence and DroppedEvidence count malformed evidence ids. The first were repaired; the second name no
	// turn.
	RepairedEvidence int `json:"repaired_evidence"`
	DroppedEvidence  int `json:"dropped_evidence"`
	// Strategies holds the result of every variant, by the strategy's name.
	Strategies map[string]VariantReport `json:"strategies"`
	variants   []VariantReport
}

// Evaluate forms the memories of all conversations with each variant and measures the result.
func Evaluate(ctx context.Context, o Options) (Report, error) {
	if len(o.Variants) == 0 {
		return Report{}, errors.New("no strategy to measure")
	}
	subjects, repairs, err := dataset.ReadSubjects(o.Path, dataset.ReadOptions{})
	if err != nil {
		return Report{}, err
	}
	out := Report{
		File: o.Path, RepairedEvidence: repairs.Repaired, DroppedEvidence: repairs.Dropped,
		Strategies: map[string]VariantReport{},
	}
	for _, v := range o.Variants {
		if o.Progress != nil {
			fmt.Fprintf(o.Progress, "%s, %s ...\n", v.Strategy, v.Policy)
		}
		r, err := v.evaluate(ctx, o.Embedder, subjects)
		if err != nil {
			return Report{}, fmt.Errorf("%s, %s: %w", v.Strategy, v.Policy, err)
		}
		out.variants = append(out.variants, r)
		out.Strategies[v.Strategy] = r
	}
	out.VariantReport = out.variants[0]
	return out, nil
}

func (v Variant) evaluate(
	ctx context.Context, e embedding.Embedder, subjects []dataset.Subject,
) (VariantReport, error) {
	if v.Saliency == "" {
		v.Saliency = memory.SaliencyGate
	}
	out := VariantReport{Strategy: v.Strategy, Policy: v.Policy, Saliency: v.Saliency}
	var usage llm.Usage
	measures, err := v.Measure(llm.WithUsage(ctx, &usage), e, subjects)
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
	return out, nil
}

// Measure forms the memories of the subjects and measures them. An empty Saliency means that the filter gates.
func (v Variant) Measure(ctx context.Context, e embedding.Embedder, subjects []dataset.Subject) (Measures, error) {
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

// Render writes a table with one column per variant.
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
	_ = tw.Flush() // a write to a buffer never fails
	fmt.Fprintf(&b, "%d users, %d sessions, %d turns, %d questions with short answers; evidence ids repaired %d, "+
		"dropped %d\n",
		r.Users, r.Sessions, r.Turns, r.Questions, r.RepairedEvidence, r.DroppedEvidence)
	_, err := out.Write(b.Bytes())
	return err
}

package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) evalKinds() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "kinds",
		Short: "Measure the shipped ranking on several kinds of talk, beside word search",
		Long: "kinds forms the conversations of each file in this process, without servers, and ranks all memories\n" +
			"for each question by the shipped prior. It prints the share of the evidence among the first 5, 10\n" +
			"and 20, for each regime of queries, beside BM25.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalKinds(cmd.Context(), files) },
	}
	cmd.Flags().StringArrayVar(&files, "data", nil,
		"a file of conversations with questions, as eval recall takes it; once for each kind")
	return cmd
}

func (c *cli) runEvalKinds(ctx context.Context, files []string) error {
	if len(files) == 0 {
		return command.Usage(fmt.Errorf("--data is missing: want a file of conversations with questions"))
	}
	reports := map[string]training.KindReport{}
	t := command.NewTable(c.out, "kind", "order", "questions", "recall@5, %", "@10", "@20")
	for _, file := range files {
		subjects, _, err := dataset.ReadSubjects(file, dataset.ReadOptions{})
		if err != nil {
			return command.Usage(err)
		}
		r, err := training.MeasureKind(ctx, subjects)
		if err != nil {
			return err
		}
		name := filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
		reports[name] = r
		row := func(order string, f training.RecallFigures) {
			percent := func(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
			t.AppendRow(table.Row{name, order, f.Questions, percent(f.Recall5), percent(f.Recall10), percent(f.Recall20)})
		}
		row("the prior", r.Prior)
		for _, regime := range slices.Sorted(maps.Keys(r.ByRegime)) {
			row("the prior, "+regime, r.ByRegime[regime])
		}
		row("bm25 over user turns", r.UserTurns)
		row("bm25 over all turns", r.AllTurns)
	}
	if c.json {
		return command.WriteJSON(c.out, reports)
	}
	t.Render()
	return nil
}

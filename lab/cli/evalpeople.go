package cli

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/people"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func (c *cli) evalPeople() *cobra.Command {
	a, o := command.Formation{}, people.Options{Seed: 3001, Persons: 10}
	cmd := &cobra.Command{
		Use:   "people",
		Short: "Measure what updates hit in the memories of made-up people",
		Long: "people forms the memories of made-up people, in this process, by each strategy. It prints the share\n" +
			"of updates that hit the entry they should, and the share of closings that are wrong, for people of\n" +
			"four kinds: with words that models learned from, with other words, with sentences that writers\n" +
			"typed, and with those of other writers.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalPeople(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	a.Flags(f)
	f.Uint64Var(&o.Seed, "seed", o.Seed, "draws the people; nothing was trained on seeds from 1000 on")
	f.IntVar(&o.Persons, "persons", o.Persons, "people of each kind")
	return cmd
}

func (c *cli) runEvalPeople(ctx context.Context, a command.Formation, o people.Options) error {
	if o.Persons < 1 {
		return command.Usage(fmt.Errorf("--persons is %d, want 1 or more", o.Persons))
	}
	variants, free, err := a.Open(ctx, c.err)
	if err != nil {
		return err
	}
	defer free()
	o.Variants, o.Embedder, o.Progress = variants, builtin.New(), c.err
	reports, err := people.Evaluate(ctx, o)
	if err != nil {
		return err
	}
	if c.json {
		return command.WriteJSON(c.out, reports)
	}
	t := command.NewTable(c.out, "strategy", "policy", "people", "updates that hit", "closings that are wrong",
		"duplicates")
	for _, r := range reports {
		for _, kind := range []struct {
			name string
			m    formation.Measures
		}{
			{"words learned from", r.Trained}, {"other words", r.OtherWords}, {"typed", r.Typed},
			{"typed by others", r.OtherTyped},
		} {
			t.AppendRow(table.Row{
				r.Strategy, r.Policy, kind.name, score.Percent(kind.m.UpdateHits), score.Percent(kind.m.WrongUpdates),
				kind.m.Duplicates,
			})
		}
	}
	t.Render()
	return nil
}

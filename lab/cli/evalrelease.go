package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

func (c *cli) evalRelease() *cobra.Command {
	var policy, data string
	persons := 10
	cmd := &cobra.Command{
		Use:   "release --policy FILE --data FILE",
		Short: "Hold a trained policy against the rules, before tenants get it",
		Long: "release measures what a policy that was trained on made-up lives must not cost elsewhere: of the\n" +
			"conversations of a file, the answers that memories contain, the evidence that the filter keeps, and\n" +
			"the evidence among the first ten memories, which may fall by half a point; of made-up people in\n" +
			"words that were not learned from, the updates that hit, which may not. Where one falls further, the\n" +
			"exit code is 1. FILE is LoCoMo's JSON, or another of conversations with questions that name their\n" +
			"evidence.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.runEvalRelease(cmd.Context(), policy, data, persons)
		},
	}
	f := cmd.Flags()
	f.StringVar(&policy, "policy", "", "file of the policy, as train policy writes it")
	f.StringVar(&data, "data", "", "file of the conversations")
	f.IntVar(&persons, "persons", persons, "made-up people, 1 to 1000")
	command.Require(cmd, "policy", "data")
	return cmd
}

func (c *cli) runEvalRelease(ctx context.Context, file, data string, persons int) error {
	if persons < 1 || persons > 1000 {
		return command.Usage(fmt.Errorf("--persons is %d, want 1 to 1000", persons))
	}
	encoded, err := os.ReadFile(file) //nolint:gosec // the operator's file
	if err != nil {
		return command.Usage(err)
	}
	p, err := decision.Decode(encoded)
	if err != nil {
		return command.Usage(fmt.Errorf("--policy: %w", err))
	}
	conversations, _, err := dataset.ReadSubjects(data, dataset.ReadOptions{})
	if err != nil {
		return command.Usage(fmt.Errorf("--data: %w", err))
	}
	compared, err := reinforcement.CompareRelease(ctx, p, conversations, persons)
	if fault.IsTerminal(err) {
		return command.Usage(fmt.Errorf("--data: %w", err))
	}
	if err != nil {
		return err
	}
	var falls error
	t := command.NewTable(c.out, "measure", "rules", p.Version, "may fall by", "met")
	for _, m := range compared {
		if !m.Met() {
			falls = errors.Join(falls, fmt.Errorf("%s: %s with the policy, %s without", m.Measure, score.Percent(m.Policy),
				score.Percent(m.Rules)))
		}
		t.AppendRow([]any{m.Measure, score.Percent(m.Rules), score.Percent(m.Policy), score.Percent(m.MayFall), m.Met()})
	}
	if c.json {
		return errors.Join(command.WriteJSON(c.out, compared), falls)
	}
	t.Render()
	return falls
}

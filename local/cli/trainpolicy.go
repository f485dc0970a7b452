package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/evaluation/training"
	"github.com/mneme-memory/mneme/shared/decision"
)

// policyArgs are the flags of train policy beside its options.
type policyArgs struct {
	file, reward, strategy string
	held                   int
}

// heldSeed chooses the people that policies are measured on: none is learned from.
const heldSeed = 4001

func (c *cli) trainPolicy() *cobra.Command {
	o, a := training.PolicyDefaults(), policyArgs{}
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Train what the embedded policy decides, by what its decisions lead to",
		Long: "policy trains the decisions of the embedded policy - which turns are kept, what a statement does to an entry - on made-up\n" +
			"lives, by reinforcement: each session is drawn several times from the same state of memory, and better draws are made likelier.\n" +
			"It prints what start and result do with other people, in words that were learned from and in others. The same\n" +
			"options give the same file.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = c.err
			return c.runTrainPolicy(cmd.Context(), o, a)
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.reward, "reward", "transition", "what decisions are worth: transition (DeltaMem)")
	f.StringVar(&a.strategy, "strategy", "salimory", "whose decisions: salimory")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "chooses people and draws")
	f.IntVar(&o.Persons, "persons", o.Persons, "made-up people to learn from")
	f.IntVar(&o.Sessions, "sessions", o.Sessions, "sessions of each")
	f.IntVar(&o.Group, "group", o.Group, "times that each session is drawn")
	f.IntVar(&o.Hidden, "hidden", o.Hidden, "width of the heads' layer; 0 for none")
	f.BoolVar(&o.Weak, "weak", o.Weak, "start from a policy that keeps and replaces too little, and not from the shipped models")
	f.Float64Var(&o.Reward.Tau, "tau", o.Reward.Tau, "least similarity of two entries that say the same, -1 to 1")
	f.BoolVar(&o.Reward.Keywords, "keywords", o.Reward.Keywords, "whether a pair counts for the keywords that it tells")
	f.Float64Var(&o.Update.Adam.Rate, "rate", o.Update.Adam.Rate, "size of the optimizer's steps")
	f.IntVar(&a.held, "held", 20, "other people to measure on, in words that were learned from and in others; 0 for none")
	outFlag(f, &a.file)
	return cmd
}

// policyMeasures are what start and result do.
type policyMeasures struct {
	Words string             `json:"words"`
	Start formation.Measures `json:"start"`
	Now   formation.Measures `json:"now"`
}

func (c *cli) runTrainPolicy(ctx context.Context, o training.PolicyOptions, a policyArgs) error {
	if a.reward != "transition" {
		return usageError{fmt.Errorf("--reward is %q, want transition", a.reward)}
	}
	if a.strategy != "salimory" {
		return usageError{fmt.Errorf("--strategy is %q, want salimory", a.strategy)}
	}
	if a.held < 0 {
		return usageError{fmt.Errorf("--held is %d, want 0 or more", a.held)}
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	policy, record, err := training.Policy(ctx, o)
	if err != nil {
		return err
	}
	if err := writeModel(a.file, policy.Encode); err != nil {
		return err
	}
	var measured []policyMeasures
	for _, split := range []synthesis.Split{synthesis.SplitTrain, synthesis.SplitHeldout} {
		if a.held == 0 {
			break
		}
		people, err := synthesis.Generate(synthesis.Options{Seed: heldSeed, Persons: a.held, Sessions: o.Sessions, Split: split})
		if err != nil {
			return err
		}
		m := policyMeasures{Words: string(split)}
		for _, of := range []struct {
			choose decision.Chooser
			to     *formation.Measures
		}{{training.StartPolicy(o), &m.Start}, {policy, &m.Now}} {
			if *of.to, err = training.MeasurePolicy(ctx, of.choose, people); err != nil {
				return err
			}
		}
		measured = append(measured, m)
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(struct {
			training.PolicyRecord
			Measured []policyMeasures `json:"measured"`
		}{record, measured})
	}
	fmt.Fprintf(c.out, "learned from %d sessions; rewards of %.1f %% of the groups were all the same; mean reward of the first person %.3f, "+
		"of the last %.3f\n", record.Sessions, 100*record.SameReward, record.Rewards[0], record.Rewards[len(record.Rewards)-1])
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "words\tpolicy\tupdates hit %\twrong %\tevidence kept %\tdropped %\tcontained %\tmemories a user")
	for _, m := range measured {
		for i, x := range []formation.Measures{m.Start, m.Now} {
			fmt.Fprintf(w, "%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n", m.Words, []string{"start", "trained"}[i], 100*x.UpdateHits,
				100*x.WrongUpdates, 100*x.KeptEvidence, 100*x.DroppedShare, 100*x.Containment, x.MemoriesPerUser)
		}
	}
	return w.Flush()
}

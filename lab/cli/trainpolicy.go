package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/lab/distributed"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/decision"
)

// policyArgs are the flags of train policy that are not training options.
type policyArgs struct {
	file, reward, strategy string
	roles                  []string
	held                   int
	servers                trainingServers
	cancel, judge          bool
}

// heldSeed chooses the people for the measurement of policies. No policy learns from them.
const heldSeed = 4001

func (c *cli) trainPolicy() *cobra.Command {
	o, a := reinforcement.Defaults(), policyArgs{}
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Train what the embedded policy decides, by what its decisions lead to",
		Long: "policy trains the decisions of the embedded policy by reinforcement, on made-up lives. These decisions are\n" +
			"the kept turns, their memories, the lookups, the effect of a statement on an entry, and the profile.\n" +
			"Each session is drawn several times from one state of memory, and better draws become likelier.\n" +
			"The command prints measures of the start and of the result, on other people. These people use words of the\n" +
			"training, and other words. The same options give the same file, unless a model judges.\n" +
			"With --temporal, the processes of train worker make the training. It continues when one of them or this\n" +
			"command ends. The same command then waits for it again.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Reward = reinforcement.Reward(a.reward)
			o.Roles = rolesOf(a.roles)
			if err := checkRewardFlags(cmd.Flags(), o.Reward, a.roles, a.servers); err != nil {
				return err
			}
			return c.runTrainPolicy(cmd.Context(), o, a)
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.reward, "reward", string(o.Reward),
		"what decisions are worth: transition (DeltaMem), outcome (questions about all that was told), "+
			"dense (MemBuilder), stages (SaliMory) or horizon (Memory-R2)")
	rolesFlag(f, &a.roles)
	f.StringVar(&a.strategy, "strategy", "salimory", "whose decisions: salimory")
	f.StringVar(&o.Version, "as", "", "version of the policy, by which tenants name it (trained-REWARD)")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "chooses people and draws")
	f.IntVar(&o.Persons, "persons", o.Persons, "made-up people to learn from")
	f.IntVar(&o.Sessions, "sessions", o.Sessions, "sessions of each")
	f.IntVar(&o.Together, "together", o.Together, "people whose rollouts make one update")
	f.IntVar(&o.Group, "group", o.Group, "times that each session is drawn")
	f.IntVar(&o.Hidden, "hidden", o.Hidden, "width of the heads' layer; 0 for none")
	f.BoolVar(&o.Weak, "weak", o.Weak, "start from a policy that keeps and replaces too little, and not from the "+
		"shipped models")
	f.Float64Var(&o.Transition.Tau, "tau", o.Transition.Tau,
		"transition: least similarity of two entries that say the same, -1 to 1")
	f.BoolVar(&o.Transition.Keywords, "keywords", o.Transition.Keywords,
		"transition: whether a pair counts for the keywords that it tells")
	f.BoolVar(&a.judge, "judge", false,
		"stages: have answers, banks and profiles judged by a model (MNEME_LLM_*, or MNEME_JUDGE_*) and not by rules; not "+
			"with --temporal")
	f.Float64Var(&o.Local, "local", o.Local, "horizon: share of credit of groups that begin at one state")
	f.Float64Var(&o.Update.Adam.Rate, "rate", o.Update.Adam.Rate, "size of the optimizer's steps")
	f.IntVar(&a.held, "held", 20, "other people to measure on, in words that were learned from and in others; 0 for none")
	a.servers.flags(f, "for a training by the processes of train worker; without one, it is made in this process")
	f.BoolVar(&a.cancel, "cancel", false, "with --temporal: end the training of these options, and delete what "+
		"is kept of it")
	outFlag(cmd, &a.file)
	return cmd
}

// checkRewardFlags refuses flags without a meaning for the reward, or for a training in this process.
func checkRewardFlags(f *pflag.FlagSet, chosen reinforcement.Reward, roles []string, s trainingServers) error {
	for flag, of := range map[string]reinforcement.Reward{
		"tau": reinforcement.RewardTransition, "keywords": reinforcement.RewardTransition,
		"local": reinforcement.RewardHorizon,
	} {
		if f.Changed(flag) && chosen != of {
			return command.Usage(fmt.Errorf("--%s is for --reward %s, which is %q", flag, of, chosen))
		}
	}
	if slices.Contains(roles, string(decision.Profile)) && chosen != reinforcement.RewardStages {
		return command.Usage(fmt.Errorf("--roles has %s, which learns by --reward %s alone", decision.Profile,
			reinforcement.RewardStages))
	}
	if f.Changed("redis") && s.temporal == "" {
		return command.Usage(errors.New("--redis is for --temporal: without it, the training is made in this process"))
	}
	return nil
}

// policyMeasures are the measures of the start and of the result.
type policyMeasures struct {
	Words string                 `json:"words"`
	Start reinforcement.Measured `json:"start"`
	Now   reinforcement.Measured `json:"now"`
}

// rolesFlag defines the flag of the learning decisions.
func rolesFlag(f *pflag.FlagSet, to *[]string) {
	var names []string
	for _, r := range decision.Roles() {
		names = append(names, string(r))
	}
	f.StringSliceVar(to, "roles", nil, "decisions that learn, of "+strings.Join(names, ", ")+" (all)")
}

func rolesOf(names []string) (out []decision.Role) {
	for _, n := range names {
		out = append(out, decision.Role(n))
	}
	return out
}

func (c *cli) runTrainPolicy(ctx context.Context, o reinforcement.Options, a policyArgs) error {
	if a.strategy != "salimory" {
		return command.Usage(fmt.Errorf("--strategy is %q, want salimory", a.strategy))
	}
	if a.held < 0 || a.held > 1000 {
		return command.Usage(fmt.Errorf("--held is %d, want 0 to 1000", a.held))
	}
	if a.held > 0 && o.Seed == heldSeed {
		return command.Usage(fmt.Errorf("--seed is %d, which chooses the people of --held: want another, or --held 0",
			o.Seed))
	}
	if err := o.Validate(); err != nil {
		return command.Usage(err)
	}
	if n := min(o.Together, o.Persons); a.servers.temporal != "" && n > distributed.MaxPeople {
		return command.Usage(fmt.Errorf("--together is %d, want %d at most with --temporal", n, distributed.MaxPeople))
	}
	if a.judge {
		judge, free, err := openTrainingJudge(o, a.servers)
		if err != nil {
			return command.Usage(err)
		}
		defer free()
		o.Judge = judge
	}
	if a.cancel {
		return c.cancelTraining(ctx, o, a.servers)
	}
	var s reinforcement.State
	err := c.trained(ctx, o, a.servers, func(last reinforcement.State) error {
		s = last
		return writeModel(a.file, last.Policy.Encode)
	})
	if err != nil {
		return err
	}
	policy, record := s.Policy, s.Record
	var measured []policyMeasures
	for _, split := range []synthesis.Split{synthesis.SplitTrain, synthesis.SplitHeldout} {
		if a.held == 0 {
			break
		}
		people, err := synthesis.Generate(synthesis.Options{Seed: heldSeed, Persons: a.held, Sessions: o.Sessions,
			Split: split})
		if err != nil {
			return err
		}
		m := policyMeasures{Words: string(split)}
		for _, of := range []struct {
			choose decision.Chooser
			to     *reinforcement.Measured
		}{{reinforcement.StartPolicy(o), &m.Start}, {policy, &m.Now}} {
			if *of.to, err = reinforcement.Measure(ctx, of.choose, people); err != nil {
				return err
			}
		}
		measured = append(measured, m)
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(struct {
			reinforcement.Record
			Measured []policyMeasures `json:"measured"`
		}{record, measured})
	}
	fmt.Fprintf(c.out, "learned from %d sessions, for which %d were formed; rewards of %.1f %% of the groups were all "+
		"the same; mean reward of the first person %.3f, of the last %.3f\n", record.Sessions, record.Steps,
		100*record.SameReward(), record.Rewards[0], record.Rewards[len(record.Rewards)-1])
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "words\tpolicy\tupdates hit %\twrong %\tevidence kept %\tdropped %\tanswered %\tvague "+
		"%\tmemories a user")
	for _, m := range measured {
		for i, x := range []reinforcement.Measured{m.Start, m.Now} {
			fmt.Fprintf(w, "%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n", m.Words, []string{"start", "trained"}[i],
				100*x.UpdateHits,
				100*x.WrongUpdates, 100*x.KeptEvidence, 100*x.DroppedShare, 100*x.Answered, 100*x.Vague, x.MemoriesPerUser)
		}
	}
	return w.Flush()
}

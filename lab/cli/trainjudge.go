package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

func (c *cli) trainStatements() *cobra.Command {
	return &cobra.Command{
		Use:   "statements",
		Short: "Print the statements that the cross-encoder learns from",
		Long: "statements prints the statements that the models of relations learn from, a JSON object a line, with what the linear one\n" +
			"makes of them, and small talk. `make cross-encoder` trains the cross-encoder and the model of messages on them.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			statements, err := training.Statements(cmd.Context(), corpus.Train, training.StatementDefaults())
			if err != nil {
				return err
			}
			smallTalk, err := training.SmallTalk(corpus.Train)
			if err != nil {
				return err
			}
			return training.WriteStatements(c.out, statements, smallTalk, relation.Shipped())
		},
	}
}

func (c *cli) trainJudge() *cobra.Command {
	o, file := training.JudgeDefaults(), ""
	cmd := &cobra.Command{
		Use:   "judge",
		Short: "Choose how sure the models of relations have to be",
		Long: "judge chooses the temperature and the thresholds of the models of relations together, on statements that none of them was\n" +
			"trained on. Without options, it prints what the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTrainJudge(cmd.Context(), o, file) },
	}
	f := cmd.Flags()
	f.Float64Var(&o.From, "from", o.From, "the probability that a message changes anything from which the cross-encoder is asked")
	f.IntVar(&o.Most, "most", o.Most, "how many stored statements it is asked about")
	f.Float64Var(&o.Share, "share", o.Share, "weight of the cross-encoder's logits")
	f.Float64Var(&o.Message, "message", o.Message, "weight of the logit of the message alone")
	f.Float64Var(&o.FalseCertain, "false-certain", o.FalseCertain, "share of the statements without a change that may be above the threshold")
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainJudge(ctx context.Context, o training.JudgeOptions, file string) error {
	choose, err := training.Statements(ctx, corpus.Choose, training.RelationDefaults())
	if err != nil {
		return err
	}
	choice, err := training.JudgeChoice(choose, o)
	if err != nil {
		return command.Usage(err)
	}
	encode := func() ([]byte, error) {
		data, err := json.MarshalIndent(choice, "", "  ")
		return append(data, '\n'), err
	}
	if err := writeModel(file, encode); err != nil {
		return err
	}
	if c.json {
		return command.WriteJSON(c.out, choice)
	}
	_, err = fmt.Fprintf(c.out, "chosen on %d statements: temperature %.2f; a change is certain from %.4f on, possible from %.4f on\n",
		len(choose), choice.Temperature, choice.Thresholds.Certain, choice.Thresholds.Possible)
	return err
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// trainRerankerArgs are the flags of train reranker. The options of the shipped prior have a seed, which serves both.
type trainRerankerArgs struct {
	prior                 training.PriorOptions
	refit                 training.RefitOptions
	data, embedding, file string
}

func (c *cli) trainReranker() *cobra.Command {
	a := trainRerankerArgs{prior: training.PriorDefaults(), refit: training.RefitDefaults()}
	cmd := &cobra.Command{
		Use:   "reranker",
		Short: "Train the reranker's shared prior, or fit it to an embedder and conversations of one's own",
		Long: "reranker trains the weights that every tenant's reranker starts from, on made-up conversations with\n" +
			"questions, on dialogues with an assistant with later requests, and on talks of many kinds. It prints\n" +
			"the recall on held-out ones. The same options give the same file. Without options, it is the one\n" +
			"that the binary carries, and takes half an hour.\n\n" +
			"With --data or --embedding it fits the weights of the binary anew: to the embedder that --embedding\n" +
			"names (MNEME_EMBEDDING and MNEME_LLM_* say the rest, as for the services), on the conversations of a\n" +
			"file with questions whose evidence is known. Users are dealt into parts, each measured with what the\n" +
			"others teach; the file is fitted to all. Services use it as MNEME_RERANKER_PRIOR.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.data == "" && a.embedding == "" {
				return c.runTrainReranker(cmd, a.prior, a.file)
			}
			return c.runRefitReranker(cmd.Context(), a)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&a.prior.Seed, "seed", a.prior.Seed, "chooses made-up conversations, and the parts")
	f.IntVar(&a.prior.Conversations, "conversations", a.prior.Conversations,
		"made-up conversations to learn from; a quarter as many again are held out")
	f.IntVar(&a.prior.Users, "users", a.prior.Users,
		"users of an assistant to learn from at most; a quarter as many are held out")
	f.IntVar(&a.prior.Askers, "askers", a.prior.Askers, "users with talks of many kinds to learn from at most")
	outFlag(cmd, &a.file)
	f.StringVar(&a.data, "data", "", "file of conversations with questions, as eval recall takes it (made-up "+
		"conversations)")
	f.StringVar(&a.embedding, "embedding", "", "embedder to fit to, as MNEME_EMBEDDING names it (what that says)")
	f.IntVar(&a.refit.Parts, "parts", a.refit.Parts, "parts that users are dealt into, each held out once")
	f.StringVar(
		(*string)(&a.refit.Maps),
		"maps",
		string(a.refit.Maps),
		"residual maps of the embeddings: on, off, or auto: where they are sure to help",
	)
	f.Float64Var(&a.refit.Training.Pull, "pull", a.refit.Training.Pull,
		"how strongly weights are drawn to those of the binary")
	f.Float64Var(&a.refit.Training.MapPull, "map-pull", a.refit.Training.MapPull, "how strongly maps are drawn to zero")
	return cmd
}

// embedderSettings are the services' settings of their embedder.
type embedderSettings struct {
	Model     wiring.Model
	Embedding wiring.Embedding
}

// openEmbedder opens the embedder that the environment names, or one of the given kind.
func openEmbedder(ctx context.Context, kind string) (embedding.Embedder, func() error, error) {
	environ := config.Environ()
	if kind != "" {
		environ["MNEME_EMBEDDING"] = kind
	}
	cfg, err := config.Load[embedderSettings](environ)
	if err != nil {
		return nil, nil, command.Usage(err)
	}
	embedder, free, err := cfg.Embedding.Open(ctx, cfg.Model, telemetry.Discard())
	if fault.IsTerminal(err) {
		err = command.Usage(err)
	}
	return embedder, free, err
}

func (c *cli) runRefitReranker(ctx context.Context, a trainRerankerArgs) (err error) {
	subjects, err := a.subjects()
	if err != nil {
		return command.Usage(err)
	}
	embedder, free, err := openEmbedder(ctx, a.embedding)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	a.refit.Embedder, a.refit.Seed = embedder, a.prior.Seed
	prior, report, err := training.Refit(ctx, subjects, a.refit)
	if fault.IsTerminal(err) {
		return command.Usage(err)
	}
	if err != nil {
		return err
	}
	if err := writePrior(prior, a.file); err != nil {
		return err
	}
	if c.json {
		return command.WriteJSON(c.out, report)
	}
	c.printRefit(report)
	return nil
}

func (a trainRerankerArgs) subjects() ([]dataset.Subject, error) {
	if a.data == "" {
		return a.prior.MadeUp()
	}
	subjects, _, err := dataset.ReadSubjects(a.data, dataset.ReadOptions{})
	return subjects, err
}

func writePrior(p ranking.Prior, file string) error {
	return writeModel(file, func() ([]byte, error) { return ranking.EncodePrior(p) })
}

// weightsTitles are the printed names of a report's weights.
var weightsTitles = map[string]string{
	training.WeightsCosine: "the embedder alone", training.WeightsShipped: "before: the binary's",
	training.WeightsRefit: "fitted, maps off",
	training.WeightsMaps:  "fitted, maps on",
}

// printRefit prints recall, a row for each weights and number of candidates, and the gains.
func (c *cli) printRefit(r training.RefitReport) {
	fmt.Fprintf(c.out, "%d questions of %d users in %d parts, each measured by weights of the others; embedder %s\n",
		r.Questions, r.Users, r.Parts, command.Printable(r.Embedding))
	t := command.NewTable(c.out, "weights", "candidates", "recall@5, %", "@10", "@20")
	for i := 0; i+2 < len(r.Recall); i += 3 {
		at := r.Recall[i]
		row := table.Row{weightsTitles[at.Weights], at.Candidates}
		// the same weights choose and order candidates, so their number changes nothing
		if at.Weights != training.WeightsMaps {
			if row[1] = "any"; i > 0 && r.Recall[i-1].Weights == at.Weights {
				continue
			}
		}
		for _, shown := range r.Recall[i : i+3] {
			row = append(row, withInterval("%.1f (%.1f..%.1f)", shown.Recall, shown.Interval))
		}
		t.AppendRow(row)
	}
	for i := 0; i+2 < len(r.Gains); i += 3 {
		row := table.Row{weightsTitles[r.Gains[i].Weights] + " gains", r.Recall[len(r.Recall)-1].Candidates}
		for _, gain := range r.Gains[i : i+3] {
			row = append(row, withInterval("%+.1f (%+.1f..%+.1f)", gain.Difference, gain.Interval))
		}
		t.AppendRow(row)
	}
	t.Render()
	maps := "without maps"
	if r.Maps {
		maps = "with maps"
	}
	fmt.Fprintf(c.out, "the prior is fitted to all users, %s; the cosine of embeddings counts %.2f in it, %.2f before\n",
		maps, r.SimilarityAfter, r.SimilarityBefore)
}

func withInterval(format string, mean float64, i score.Interval) string {
	return fmt.Sprintf(format, 100*mean, 100*i.Low, 100*i.High)
}

func (c *cli) runTrainReranker(cmd *cobra.Command, o training.PriorOptions, file string) error {
	prior, r, err := training.Prior(cmd.Context(), o)
	if err != nil {
		return command.Usage(err)
	}
	if err := writePrior(prior, file); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	fmt.Fprintf(c.out, "learned from %d questions on %d conversations, %d questions on talks and %d requests\n",
		r.Questions, r.Conversations, r.Asked, r.Requests)
	report := func(of string, f training.RecallFigures) {
		fmt.Fprintf(c.out, "held out: %d %s; recall@5 %.1f %%, @10 %.1f %%, @20 %.1f %%\n",
			f.Questions, of, 100*f.Recall5, 100*f.Recall10, 100*f.Recall20)
	}
	report("questions", r.Heldout)
	report("requests", r.HeldoutRequests)
	for _, writer := range slices.Sorted(maps.Keys(r.HeldoutAsked)) {
		report("questions on talks of "+writer, r.HeldoutAsked[writer])
	}
	return nil
}

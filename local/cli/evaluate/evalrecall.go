package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/recall"
	"github.com/mneme-memory/mneme/local/command"
)

// recallArgs are the flags of eval recall.
type recallArgs struct {
	files                 []string
	strategy, policy      string
	dataDir               string
	connect               bool
	candidates, memories  int
	words, workers, timed int
	users                 int
	extractor             string
	answers, judge, learn bool
	ablate, sweep         bool
	passes                int
}

// extractorObservations replays the observations of a LoCoMo file.
const extractorObservations = "observations"

func (c commands) evalRecall() *cobra.Command {
	var a recallArgs
	cmd := &cobra.Command{
		Use:   "recall --data FILE...",
		Short: "Measure recall on questions about conversations, and the stages that lose evidence",
		Long: "recall starts a Mneme on a temporary data folder, publishes the conversations of a file, waits until their\n" +
			"memories are formed, and asks every question of the file. By category it prints: the share of evidence\n" +
			"behind the first 5, 10 and 20 memories, and in profiles of 500, 1,000 and 2,000 words; the share of short\n" +
			"answers in the text; abstention; and the first stage that lost evidence.\n" +
			"For comparison it measures a Mneme without user indexes (cold), the order of retrieval, searches of the raw\n" +
			"turns by words and by word vectors (only user turns, if there is an assistant), the whole history, and the\n" +
			"latency of a bare query of the bank. --ablate adds a Mneme without each part of the ranking. --sweep adds\n" +
			"recall by the number of candidates.\n" +
			"With several files it measures one after the other, and then prints a table of all. With --json several\n" +
			"files give a list of reports.\n" +
			"FILE is a file of LoCoMo, LongMemEval, PersonaMem or HaluMem.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalRecall(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&a.files, "data", nil, "file of conversations and questions; may be repeated")
	f.StringVar(&a.dataDir, "data-dir", "", "data folder of the started Mneme, or of the running one with --connect "+
		"(default: temporary)")
	f.BoolVar(
		&a.connect,
		"connect",
		false,
		"measure a running Mneme, named by --data-dir, or by --url, --key, --brokers and --tenant",
	)
	f.StringVar(&a.strategy, "strategy", "", "strategy that forms memories (default salimory)")
	f.StringVar(&a.policy, "policy", "", "embedded, or llm with the model of MNEME_LLM_* (default embedded)")
	f.IntVar(&a.candidates, "candidates", recall.DefaultCandidates,
		"number of candidates to measure the order; latency uses the default of recalls")
	f.IntVar(&a.memories, "memories", recall.DefaultShown, "number of shown memories to measure answers and stages")
	f.IntVar(&a.words, "words", 0, "word budget to measure answers and stages (default: the service's)")
	f.IntVar(&a.workers, "workers", recall.DefaultWorkers, "number of parallel questions, except for latency")
	f.IntVar(&a.users, "users", 1, "number of users with sessions formed in parallel, which slows each one down")
	f.IntVar(&a.timed, "timed", recall.DefaultLatencySample, "number of recalls to measure latency; 0 measures none")
	f.StringVar(&a.extractor, "extractor", "",
		extractorObservations+": use the observations of a LoCoMo file instead of filter and extractor")
	f.BoolVar(&a.answers, "answers", false, "also compare answers with the right ones by F1 and BLEU-1")
	f.BoolVar(&a.judge, "judge", false,
		"let the model of MNEME_LLM_* mark the answers, and its own answers from the whole history; implies --answers")
	f.BoolVar(&a.learn, "learn", false, "measure the order of each conversation again after learning from the citations "+
		"of all others")
	f.BoolVar(&a.ablate, "ablate", false,
		"measure the ranking with the weights of one part set to zero, for each part")
	f.BoolVar(&a.sweep, "sweep", false, "also measure recall by number of candidates, with and without residual maps")
	f.IntVar(&a.passes, "passes", recall.FoldDefaults().Passes,
		"number of passes over the other conversations with --learn")
	command.Require(cmd, "data")
	return cmd
}

// check returns the mistakes in the flags.
func (a recallArgs) check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{
		{"candidates", a.candidates, 1, 200}, {"memories", a.memories, 1, min(100, a.candidates)},
		{"workers", a.workers, 1, 64}, {"users", a.users, 1, 64}, {"timed", a.timed, 0, 100_000},
		{"words", a.words, 0, 10_000}, {"passes", a.passes, 1, 100},
	} {
		if n.value < n.min || n.value > n.max {
			return command.Usage(fmt.Errorf("--%s is %d, want %d to %d", n.flag, n.value, n.min, n.max))
		}
	}
	if a.extractor != "" && a.extractor != extractorObservations {
		return command.Usage(fmt.Errorf("--extractor is %q, want %s or nothing", a.extractor, extractorObservations))
	}
	if a.connect && a.ablate {
		return command.Usage(errors.New("--ablate needs a Mneme that this command starts: remove --connect"))
	}
	if a.connect && (a.strategy != "" || a.policy != "") {
		return command.Usage(errors.New("--strategy and --policy need a Mneme that this command starts: remove --connect"))
	}
	if a.strategy != "" || a.policy != "" {
		return command.CheckFormation(cmp.Or(a.strategy, command.StrategyNames()[0]), cmp.Or(a.policy, "embedded"))
	}
	return nil
}

func (c commands) runEvalRecall(ctx context.Context, a recallArgs) (err error) {
	if err := a.check(); err != nil {
		return err
	}
	for _, file := range a.files {
		if _, err := os.Stat(file); err != nil {
			return command.Usage(err)
		}
	}
	m, err := c.openMeasured(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop(context.WithoutCancel(ctx))) }()
	o, err := m.options(a)
	if err != nil {
		return err
	}
	o.Progress = c.Err
	reports, err := recall.EvaluateAll(ctx, a.files, o)
	if err != nil {
		return err
	}
	if c.JSON {
		if len(reports) == 1 {
			return command.WriteJSON(c.Out, reports[0])
		}
		return command.WriteJSON(c.Out, reports)
	}
	for _, r := range reports {
		if len(reports) > 1 {
			fmt.Fprintf(c.Out, "%s\n", r.File)
		}
		if err := r.Render(c.Out); err != nil {
			return err
		}
	}
	if len(reports) == 1 {
		return nil
	}
	return recall.Summarise(reports, c.Out)
}

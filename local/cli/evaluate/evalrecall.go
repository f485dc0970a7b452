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
		Short: "Measure what is found again of conversations, and where the rest was lost",
		Long: "recall starts everything on a temporary data folder, publishes the conversations of a file, waits until their memories are\n" +
			"formed, asks every question of the file, and prints by category: the share of the evidence that the first 5, 10 and 20\n" +
			"memories rest on, and that profiles of 500, 1,000 and 2,000 words have; the share of short answers in the text; abstention;\n" +
			"and at which stage evidence was lost first. Beside it: a Mneme that never has a user's index (cold), with --ablate one\n" +
			"without each part of the ranking, the order of retrieval, searches of the raw turns by words and by word vectors (of the\n" +
			"user's turns, where there is an assistant), the whole history, and times beside those of a bare query of the bank.\n" +
			"--sweep adds recall by the number of candidates. Several files are measured one after the other, and a table of all follows.\n" +
			"FILE is LoCoMo's JSON, LongMemEval's, PersonaMem's questions, or HaluMem's. With --json, several files make a list of reports.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalRecall(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&a.files, "data", nil, "the file of conversations and questions; more than one may be given")
	f.StringVar(&a.dataDir, "data-dir", "", "data folder to start on, or of the running Mneme with --connect (a temporary one)")
	f.BoolVar(
		&a.connect,
		"connect",
		false,
		"measure a running Mneme: the one of --data-dir, or of --url, --key, --brokers and --tenant",
	)
	f.StringVar(&a.strategy, "strategy", "", "how memory is formed (salimory)")
	f.StringVar(&a.policy, "policy", "", "embedded, or llm with the model of MNEME_LLM_* (embedded)")
	f.IntVar(&a.candidates, "candidates", recall.DefaultCandidates,
		"memories retrieved where order is measured; times are of recalls by default")
	f.IntVar(&a.memories, "memories", recall.DefaultShown, "memories shown where answers and the cascade are measured")
	f.IntVar(&a.words, "words", 0, "word budget there (the service's)")
	f.IntVar(&a.workers, "workers", recall.DefaultWorkers, "questions asked at a time, where time is not measured")
	f.IntVar(&a.users, "users", 1, "users whose sessions are formed at a time; times of formation are then those of a busy service")
	f.IntVar(&a.timed, "timed", recall.DefaultLatencySample, "recalls timed; 0 times none")
	f.StringVar(&a.extractor, "extractor", "",
		extractorObservations+": replay those of LoCoMo's file in the place of filter and extractor (the services' own)")
	f.BoolVar(&a.answers, "answers", false, "compare the words of the answers with the right ones, too: F1 and BLEU-1")
	f.BoolVar(&a.judge, "judge", false,
		"have the model of MNEME_LLM_* mark the answers, and its own from the whole history; implies --answers")
	f.BoolVar(&a.learn, "learn", false, "measure order again for each conversation after learning from the citations of all others")
	f.BoolVar(&a.ablate, "ablate", false,
		"measure what parts are worth: the weights of each are set to zero in turn, those of the others stay as they are")
	f.BoolVar(&a.sweep, "sweep", false, "measure recall by candidates, too, with residual maps and without where the weights have them")
	f.IntVar(&a.passes, "passes", recall.FoldDefaults().Passes, "how often the others are learned from with --learn")
	command.Require(cmd, "data")
	return cmd
}

// check returns the mistakes in the flags.
func (a recallArgs) check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{
		{"candidates", a.candidates, 1, 200}, {"memories", a.memories, 1, min(100, a.candidates)}, {"workers", a.workers, 1, 64},
		{"users", a.users, 1, 64}, {"timed", a.timed, 0, 100_000}, {"words", a.words, 0, 10_000}, {"passes", a.passes, 1, 100},
	} {
		if n.value < n.min || n.value > n.max {
			return command.Usage(fmt.Errorf("--%s is %d, want %d to %d", n.flag, n.value, n.min, n.max))
		}
	}
	if a.extractor != "" && a.extractor != extractorObservations {
		return command.Usage(fmt.Errorf("--extractor is %q, want %s or nothing", a.extractor, extractorObservations))
	}
	if a.connect && a.ablate {
		return command.Usage(errors.New("--ablate is for a Mneme that is started: what is left out is left out of another one beside it"))
	}
	if a.connect && (a.strategy != "" || a.policy != "") {
		return command.Usage(errors.New("--strategy and --policy are for a Mneme that is started: one that runs has its own"))
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

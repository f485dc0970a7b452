package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) trainIntent() *cobra.Command {
	o, file, mistakes := training.IntentDefaults(), "", false
	cmd := &cobra.Command{
		Use:   "intent",
		Short: "Train the model of the time that questions are about",
		Long: "intent trains the model that tells whether a question is about what holds now, about what held before, or about something that\n" +
			"happened, on questions labelled by hand, and prints what it measures on held-out ones. The same options give the same file;\n" +
			"without options, it is the one that the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runTrainIntent(o, file, mistakes) },
	}
	f := cmd.Flags()
	f.Float64Var(&o.Cost, "cost", o.Cost, "weight of the loss against the squared weights")
	f.IntVar(&o.Holders, "holders", o.Holders, "questions that have to have a feature")
	f.Float64Var(&o.FalsePast, "false-past", o.FalsePast, "missed questions about the past that weigh as much as one wrongly read so")
	f.BoolVar(&mistakes, "errors", mistakes, "print the held-out questions whose past is misread")
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainIntent(o training.IntentOptions, file string, mistakes bool) error {
	var sets [3][]corpus.Question
	for i, s := range []corpus.Split{corpus.Train, corpus.Choose, corpus.Heldout} {
		var err error
		if sets[i], err = corpus.Questions(s); err != nil {
			return err
		}
	}
	model, r, err := training.Intent(sets[0], sets[1], o)
	if err != nil {
		return command.Usage(err)
	}
	if err := writeModel(file, model.Encode); err != nil {
		return err
	}
	english, others := training.MeasureIntent(model, ofLanguage(sets[2], true)), training.MeasureIntent(model, ofLanguage(sets[2], false))
	if c.json {
		return json.NewEncoder(c.out).Encode(struct {
			training.IntentRecord
			Threshold float64                `json:"threshold"`
			English   training.IntentFigures `json:"heldout_english"`
			Others    training.IntentFigures `json:"heldout_other_languages"`
		}{r, model.Threshold, english, others})
	}
	fmt.Fprintf(c.out, "learned from %d questions; %d features; the past from %.4f on\n", r.Questions, r.Features, model.Threshold)
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "held out\tquestions\tintent right %\tmean the past\tfound %\tof those read so %\tpresent read so\tdates right")
	for _, x := range []struct {
		name string
		training.IntentFigures
	}{{"English", english}, {"other languages", others}} {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%d\t%.1f\t%.1f\t%d of %d\t%d of %d\n", x.name, x.Questions, 100*x.Accuracy(), x.Past, 100*x.Recall(),
			100*x.Precision(), x.Wrong, x.Present, x.DatesRight, x.Dates)
	}
	if mistakes {
		for _, q := range append(english.Misread, others.Misread...) {
			fmt.Fprintf(w, "%s\t%s\n", q.Label, q.Text)
		}
	}
	return w.Flush()
}

// ofLanguage returns the English questions, or the others.
func ofLanguage(questions []corpus.Question, english bool) []corpus.Question {
	var out []corpus.Question
	for _, q := range questions {
		if (q.Language == "en") == english {
			out = append(out, q)
		}
	}
	return out
}

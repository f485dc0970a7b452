package training

import (
	"context"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// CommitmentOptions are the options of a model of commitments. The record in the model's file has them.
type CommitmentOptions struct {
	Seed    uint64  `json:"seed" use:"draws the order of learning"`
	Passing float64 `json:"passing" range:"(0,1)" use:"share of what commits to nothing that the threshold lets pass, where it is chosen"`
	Descent
}

// CommitmentRecord records the options, the data and the figures of a model. The model's file has it.
type CommitmentRecord struct {
	Options CommitmentOptions `json:"options"`
	// Sentences counts the training sentences.
	Sentences int `json:"sentences"`
	Fit
	// Chosen is measured on the sentences on which the threshold is chosen. Heldout is measured on another writer's
	// sentences, which no choice uses.
	Chosen  CommitmentFigures `json:"chosen"`
	Heldout CommitmentFigures `json:"heldout"`
}

// CommitmentFigures count labelled sentences by kind, and those that pass.
type CommitmentFigures struct {
	Commit       int `json:"commit"`
	CommitPassed int `json:"commit_passed"`
	Others       int `json:"others"`
	OthersPassed int `json:"others_passed"`
}

// weightSpoken is the weight of an assistant's sentence in a dialogue, since hardly any such sentence has a
// commitment. A labelled sentence has weight 1.
const weightSpoken = 0.5

// Commitment trains the model of commitments.
func Commitment(_ context.Context, o CommitmentOptions) (Made, error) {
	r, samples, err := commitmentData(o)
	if err != nil {
		return Made{}, err
	}
	return trainNetwork("commitment/1", samples, 0.5, o.Seed, o.Descent, r)
}

func commitmentData(o CommitmentOptions) (*CommitmentRecord, []sample, error) {
	samples, err := commitmentSamples()
	return &CommitmentRecord{Options: o, Sentences: len(samples), Fit: fitOf(samples, statement)}, samples, err
}

func (r *CommitmentRecord) measure(m *saliency.Model, f *saliency.Filter) error {
	labelled, err := corpus.Commitments()
	if err != nil {
		return err
	}
	scores, none := make([]float64, len(labelled)), []float64(nil)
	for i, c := range labelled {
		scores[i] = readable(f, memory.RoleAssistant, c.Text)
		if c.Split() == corpus.Choose && !c.Commits() {
			none = append(none, scores[i])
		}
	}
	m.Threshold = thresholdAbove(none, r.Options.Passing)
	for i, c := range labelled {
		figures := &r.Chosen
		switch c.Split() {
		case corpus.Train:
			continue
		case corpus.Heldout:
			figures = &r.Heldout
		}
		all, passed := &figures.Others, &figures.OthersPassed
		if c.Commits() {
			all, passed = &figures.Commit, &figures.CommitPassed
		}
		*all++
		*passed += count(scores[i] >= m.Threshold)
	}
	return nil
}

// commitmentSamples are the labelled training sentences and the assistants' sentences of the training dialogues.
func commitmentSamples() ([]sample, error) {
	var out []sample
	add := func(said string, commits bool, weight float64) {
		out = append(out, sample{turn: memory.Turn{Role: memory.RoleAssistant, Text: said}, salient: commits, weight: weight})
	}
	labelled, err := corpus.Commitments()
	if err != nil {
		return nil, err
	}
	for _, c := range labelled {
		if c.Split() == corpus.Train {
			add(c.Text, c.Commits(), 1)
		}
	}
	dialogues, err := corpus.Dialogues()
	if err != nil {
		return nil, err
	}
	splitter := text.NewSplitter()
	for _, d := range dialogues {
		if d.Split() != corpus.Train {
			continue
		}
		for _, l := range d.Labelled() {
			if l.Turn.Role != memory.RoleAssistant || l.Remember {
				continue
			}
			for _, b := range text.Blocks(l.Turn.Text) {
				if b.Kind == text.Prose {
					for _, s := range splitter.Split(b.Text) {
						add(s, false, weightSpoken)
					}
				}
			}
		}
	}
	return out, nil
}

package training

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// CommitmentVersion names the models of an assistant's commitments that this package makes.
const CommitmentVersion = "commitment/1"

// CommitmentOptions are the options of a model of commitments. The record in the model's file has them.
type CommitmentOptions struct {
	// Seed draws the order of learning.
	Seed uint64 `json:"seed"`
	// Passing is the share of the sentences without a commitment that the threshold lets pass, measured on the
	// sentences for the choice of options.
	Passing float64 `json:"passing"`
	// Epochs, Rate and Decay are as in FilterOptions.
	Epochs int     `json:"epochs"`
	Rate   float64 `json:"rate"`
	Decay  float64 `json:"decay"`
}

// CommitmentDefaults are the options of the model that the binary carries.
func CommitmentDefaults() CommitmentOptions {
	return CommitmentOptions{Seed: 1, Passing: .01, Epochs: 20, Rate: 0.05, Decay: 1e-3}
}

func (o CommitmentOptions) network() FilterOptions {
	f := FilterDefaults()
	f.Seed, f.RecallWeight, f.Epochs, f.Rate, f.Decay = o.Seed, 0.5, o.Epochs, o.Rate, o.Decay
	return f
}

// CommitmentRecord records the options, the data and the figures of a model. The model's file has it.
type CommitmentRecord struct {
	Options CommitmentOptions `json:"options"`
	// Sentences counts the training sentences. Digest is their digest.
	Sentences int    `json:"sentences"`
	Digest    string `json:"digest"`
	// Loss is the mean weighted logistic loss of the last epoch.
	Loss float64 `json:"loss"`
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

// Commitment trains a model. An option out of range is a terminal error.
func Commitment(o CommitmentOptions) (saliency.Model, CommitmentRecord, error) {
	fail := func(err error) (saliency.Model, CommitmentRecord, error) {
		return saliency.Model{}, CommitmentRecord{}, err
	}
	if !(o.Passing > 0 && o.Passing < 1) {
		return fail(fault.Terminal("passing", "is %v, want more than 0 and less than 1", o.Passing))
	}
	if err := o.network().check(); err != nil {
		return fail(err)
	}
	r, samples, err := commitmentSamples(o)
	if err != nil {
		return fail(err)
	}
	labelled, err := corpus.Commitments()
	if err != nil {
		return fail(err)
	}
	ls, n := lessons(samples, o.network().RecallWeight)
	n, loss := learn(ls, n, o.network())
	r.Loss = rounded(loss)
	m := saliency.Model{Version: CommitmentVersion, Threshold: 0.5}
	m.SetNetwork(n)
	f, err := saliency.NewFilter(m)
	if err != nil {
		return fail(err)
	}
	var none []float64
	for _, c := range labelled {
		if c.Split() == corpus.Choose && !c.Commits() {
			none = append(none, commitmentScore(f, c))
		}
	}
	slices.SortFunc(none, func(a, b float64) int { return cmp.Compare(b, a) })
	m.Threshold = min(0.9999, max(1e-4, rounded(none[int(o.Passing*float64(len(none)))]+1e-4)))
	for _, c := range labelled {
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
		*passed += count(commitmentScore(f, c) >= m.Threshold)
	}
	if m.Training, err = json.Marshal(r); err != nil {
		return fail(fmt.Errorf("record training: %w", err))
	}
	return m, r, nil
}

func commitmentScore(f *saliency.Filter, c corpus.Commitment) float64 {
	score, _ := f.Read(memory.Turn{Role: memory.RoleAssistant, Text: c.Text})
	return score
}

// CommitmentData returns the record of the model's data. It trains no model.
func CommitmentData(o CommitmentOptions) (CommitmentRecord, error) {
	r, _, err := commitmentSamples(o)
	return r, err
}

// commitmentSamples are the labelled training sentences and the assistants' sentences of the training dialogues.
func commitmentSamples(o CommitmentOptions) (CommitmentRecord, []sample, error) {
	var out []sample
	add := func(said string, commits bool, weight float64) {
		out = append(out, sample{turn: memory.Turn{Role: memory.RoleAssistant, Text: said}, salient: commits, weight: weight})
	}
	labelled, err := corpus.Commitments()
	if err != nil {
		return CommitmentRecord{}, nil, err
	}
	for _, c := range labelled {
		if c.Split() == corpus.Train {
			add(c.Text, c.Commits(), 1)
		}
	}
	dialogues, err := corpus.Dialogues()
	if err != nil {
		return CommitmentRecord{}, nil, err
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
	h := sha256.New()
	for _, s := range out {
		fmt.Fprintf(h, "%q %t %g\n", s.turn.Text, s.salient, s.weight)
	}
	return CommitmentRecord{Options: o, Sentences: len(out), Digest: hex.EncodeToString(h.Sum(nil)[:8])}, out, nil
}

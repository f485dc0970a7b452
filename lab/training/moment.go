package training

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/moment"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
)

// MomentOptions are the training options of the model of the moment. It finds statements that matter for the moment
// only.
type MomentOptions struct {
	Cost    float64 `json:"cost" range:"(0,1e4)" use:"weight of the loss against the squared weights"`
	Holders int     `json:"holders" range:"[1,]" use:"how many statements have to have a word for something to be learned of it"`
	// A repeat is with and without a full stop. Holders counts each of them.
	Repeats int `json:"repeats" range:"[1,1000]" use:"how often a statement that was written for its label counts"`
}

// MomentRecord records the options, the data and the figures of a model. The model's file has it.
type MomentRecord struct {
	Options MomentOptions `json:"options"`
	// Statements and Passing count the training data. Digest is the digest of all training data.
	Statements int    `json:"statements"`
	Passing    int    `json:"passing"`
	Digest     string `json:"digest"`
	// Chosen is measured on the statements on which the threshold is chosen, Heldout on statements of other writers.
	// Written is measured on held-out statements that were written for their labels, Needed on dialogue turns outside
	// the training data.
	Chosen  MomentFigures `json:"chosen"`
	Heldout MomentFigures `json:"heldout"`
	Written MomentFigures `json:"written"`
	Needed  MomentFigures `json:"dialogues"`
}

// MomentFigures count lasting statements and those that would lose a quotation. They also count statements of the
// moment and those that the model finds. In dialogues the lasting ones are the turns that a later conversation may
// need.
type MomentFigures struct {
	Lasting int `json:"lasting"`
	Lost    int `json:"lost"`
	Passing int `json:"passing"`
	Found   int `json:"found"`
}

// lastingStatements are users' statements with lasting facts: entries of banks, their changes and additions, turns
// that later requests need, and constraints.
func lastingStatements(split corpus.Split) (out needs, err error) {
	later := func(said, label, batch string) {
		switch label {
		case relation.Unrelated.String(), relation.Same.String():
		default:
			out.add(said, false, batch)
		}
	}
	pairs, err := corpus.Pairs()
	if err != nil {
		return out, err
	}
	for _, p := range corpus.Of(pairs, split) {
		if p.StoredBy == corpus.ByUser {
			out.add(p.Stored, false, p.Batch)
		}
		if p.LaterBy == corpus.ByUser {
			later(p.Later, p.Label, p.Batch)
		}
	}
	banks, err := corpus.Banks(split)
	if err != nil {
		return out, err
	}
	for _, b := range banks {
		for _, s := range b.Stored {
			out.add(s, false, b.Batch)
		}
		for _, l := range b.Later {
			later(l.Text, l.Label, b.Batch)
		}
	}
	turns, err := dialogueTurns(split)
	if err != nil {
		return out, err
	}
	for i, said := range turns.texts {
		if turns.needed[i] {
			out.add(said, false, turns.batches[i])
		}
	}
	constraints, err := corpus.Constraints()
	for _, c := range constraints {
		if c.Split() == split && c.Label != corpus.BindsNot {
			out.add(c.Text, false, c.Batch)
		}
	}
	return out, err
}

// dialogueTurns are the turns of users and friends in dialogues, each marked when a later conversation may need it.
func dialogueTurns(split corpus.Split) (out needs, err error) {
	dialogues, err := corpus.Dialogues()
	for _, d := range dialogues {
		for _, l := range d.Labelled() {
			if l.Split == split && l.Turn.Role == memory.RoleUser {
				out.add(l.Turn.Text, l.Remember || l.Needed, d.Batch)
			}
		}
	}
	return out, err
}

// writtenMoments are the statements of a split that were written for their labels, with and without a full stop.
// People type both, so the full stop must tell the model nothing.
func writtenMoments(split corpus.Split) (out needs, err error) {
	all, err := corpus.Moments()
	for _, m := range all {
		if m.Split() == split {
			out.add(m.Text, m.Passes(), m.Batch)
			out.add(m.Text+".", m.Passes(), m.Batch)
		}
	}
	return out, err
}

// Moment trains the model of the moment.
func Moment(_ context.Context, o MomentOptions) (Made, error) {
	train, err := lastingStatements(corpus.Train)
	if err != nil {
		return Made{}, err
	}
	written, err := writtenMoments(corpus.Train)
	if err != nil {
		return Made{}, err
	}
	for range o.Repeats {
		for i, said := range written.texts {
			train.add(said, written.needed[i], written.batches[i])
		}
	}
	r := &MomentRecord{Options: o, Statements: len(train.texts)}
	r.Passing, r.Digest = train.positive()
	m := train.fit("moment/1", o.Cost, o.Holders)
	m.Words = train.momentWords(o.Holders)
	if err := r.measure(m); err != nil {
		return Made{}, err
	}
	return made(m, &m.Header, r, m.Threshold, "\t")
}

// momentWords are the words and marks that at least `least` statements of the moment have, sorted.
func (n needs) momentWords(least int) (out []string) {
	holders := map[string]int{}
	for i, said := range n.texts {
		if !n.needed[i] {
			continue
		}
		for _, t := range classifier.TermsOf(said) {
			if holders[t]++; holders[t] == least && !strings.Contains(t, " ") {
				out = append(out, t)
			}
		}
	}
	slices.Sort(out)
	return out
}

// measure chooses the threshold and fills in the record.
func (r *MomentRecord) measure(m *classifier.Terms) error {
	former := embedded.NewFormerWith(embedded.IdentityOf("moment"), nil, 1, 1) // it quotes, and judges nothing
	choosing := func(split corpus.Split) (needs, error) {
		said, err := lastingStatements(split)
		if err != nil {
			return said, err
		}
		written, err := writtenMoments(split)
		for i, w := range written.texts {
			said.add(w, written.needed[i], written.batches[i])
		}
		return said, err
	}
	for _, x := range []struct {
		of     func(corpus.Split) (needs, error)
		splits []corpus.Split
		out    *MomentFigures
	}{
		{choosing, []corpus.Split{corpus.Choose}, &r.Chosen}, {lastingStatements, []corpus.Split{corpus.Heldout}, &r.Heldout},
		{writtenMoments, []corpus.Split{corpus.Heldout}, &r.Written},
		{dialogueTurns, []corpus.Split{corpus.Choose, corpus.Heldout}, &r.Needed},
	} {
		var passing, lasting []float64
		for _, split := range x.splits {
			list, err := x.of(split)
			if err != nil {
				return err
			}
			for i, said := range list.texts {
				score, err := passes(former, m, said)
				switch {
				case err != nil:
					return err
				case list.needed[i] != (x.out == &r.Needed): // in dialogues, needed turns are the lasting ones
					passing = append(passing, score)
				default:
					lasting = append(lasting, score)
				}
			}
		}
		if x.out == &r.Chosen {
			m.Threshold = thresholdAbove(lasting, 0)
		}
		slices.Sort(lasting)
		slices.Sort(passing)
		lost, _ := slices.BinarySearch(lasting, m.Threshold)
		found, _ := slices.BinarySearch(passing, m.Threshold)
		*x.out = MomentFigures{len(lasting), len(lasting) - lost, len(passing), len(passing) - found}
	}
	return nil
}

// passes returns the highest score of the moment among the quotations of a statement. It is 0 where the model may not
// pass any.
func passes(former formation.Former, m *classifier.Terms, said string) (float64, error) {
	at := time.Date(2024, 5, 6, 10, 0, 0, 0, time.UTC)
	turn := memory.Turn{ID: "1", SessionID: "1", Speaker: "Ana", Role: memory.RoleUser, Text: said, Time: at}
	quoted, err := former.Extract(context.Background(), formation.Session{ID: "1", Turns: []memory.Turn{turn}})
	most := 0.0
	for _, c := range quoted {
		if moment.May(c, at) && moment.Knows(m, c.Content, at) {
			most = max(most, m.Score(c.Content))
		}
	}
	return most, err
}

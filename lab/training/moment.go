package training

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/moment"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text/linear"
)

// MomentVersion names the models that Moment makes.
const MomentVersion = "moment/1"

// MomentOptions say how the model of what matters for the moment only is trained.
type MomentOptions struct {
	// Cost weighs the loss of a statement against the squared weights.
	Cost float64 `json:"cost"`
	// Holders is how many statements have to have a term for something to be learned of it.
	Holders int `json:"holders"`
	// Repeats is how often a statement that was written for its label counts, with a full stop and without; Holders counts each time.
	Repeats int `json:"repeats"`
}

// MomentDefaults are the options of the model that the binary carries.
func MomentDefaults() MomentOptions {
	return MomentOptions{Cost: 2, Holders: 31, Repeats: 15}
}

// MomentRecord says what a model was made from and what came out; it stands in the model's file.
type MomentRecord struct {
	Options MomentOptions `json:"options"`
	// Statements and Passing count the training data, Digest is of all of it.
	Statements int    `json:"statements"`
	Passing    int    `json:"passing"`
	Digest     string `json:"digest"`
	// Chosen is measured on what the threshold was chosen on, Heldout on statements of other writers, Written on held-out ones that were
	// written for their labels, Needed on turns of dialogues outside the training data.
	Chosen  MomentFigures `json:"chosen"`
	Heldout MomentFigures `json:"heldout"`
	Written MomentFigures `json:"written"`
	Needed  MomentFigures `json:"dialogues"`
}

// MomentFigures count statements that last, and how many of them a quotation would be lost of; and those of the moment, and how many of
// them are found. In dialogues these are the turns that a later conversation may need, and the others.
type MomentFigures struct {
	Lasting int `json:"lasting"`
	Lost    int `json:"lost"`
	Passing int `json:"passing"`
	Found   int `json:"found"`
}

// lastingStatements are what users say that banks have, what changes them or adds to them, what later requests need, and what constrains.
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

// dialogueTurns are the turns of users and friends in dialogues, and whether a later conversation may need them.
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

// writtenMoments are the statements of a split that were written for their labels, with a full stop and without: as people type, it
// tells nothing.
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

// Moment trains the model of what matters for the moment only. The same options give the same model; those out of range are terminal
// errors.
func Moment(o MomentOptions) (*moment.Model, MomentRecord, error) {
	r := MomentRecord{Options: o}
	if err := o.check(); err != nil {
		return nil, r, err
	}
	train, err := lastingStatements(corpus.Train)
	if err != nil {
		return nil, r, err
	}
	written, err := writtenMoments(corpus.Train)
	if err != nil {
		return nil, r, err
	}
	for range o.Repeats {
		for i, said := range written.texts {
			train.add(said, written.needed[i], written.batches[i])
		}
	}
	digest := fnv.New64a()
	for i, said := range train.texts {
		fmt.Fprintf(digest, "%q %t\n", said, train.needed[i])
		if train.needed[i] {
			r.Passing++
		}
	}
	r.Statements, r.Digest = len(train.texts), strconv.FormatUint(digest.Sum64(), 16)
	m := &moment.Model{Model: *train.fit(o.Cost, o.Holders)}
	m.Version = MomentVersion
	m.Words = train.momentWords(o.Holders)
	return m, r, r.measure(m)
}

// momentWords are the words and marks that `least` statements of the moment or more have, sorted.
func (n needs) momentWords(least int) (out []string) {
	holders := map[string]int{}
	for i, said := range n.texts {
		if !n.needed[i] {
			continue
		}
		for _, t := range linear.Terms(said) {
			if holders[t]++; holders[t] == least && !strings.Contains(t, " ") {
				out = append(out, t)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (o MomentOptions) check() error {
	if o.Repeats < 1 || o.Repeats > 1000 {
		return fault.Terminal("repeats", "is %d, want 1 to 1000", o.Repeats)
	}
	return checkFit(o.Cost, o.Holders)
}

// measure chooses the threshold and fills in the record.
func (r *MomentRecord) measure(m *moment.Model) error {
	former := embedded.NewFormer(embedded.IdentityOf("moment"))
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
				case list.needed[i] != (x.out == &r.Needed): // in dialogues, needed are those that last
					passing = append(passing, score)
				default:
					lasting = append(lasting, score)
				}
			}
		}
		slices.Sort(lasting)
		slices.Sort(passing)
		if x.out == &r.Chosen {
			m.Threshold = min(0.9999, rounded(lasting[len(lasting)-1]+1e-4)) // above every one that lasts
		}
		lost, _ := slices.BinarySearch(lasting, m.Threshold)
		found, _ := slices.BinarySearch(passing, m.Threshold)
		*x.out = MomentFigures{len(lasting), len(lasting) - lost, len(passing), len(passing) - found}
	}
	data, err := json.Marshal(r)
	m.Training = data
	return err
}

// passes is the score of what is most of the moment among the quotations that a statement makes; 0 where none may be.
func passes(former formation.Former, m *moment.Model, said string) (float64, error) {
	at := time.Date(2024, 5, 6, 10, 0, 0, 0, time.UTC)
	turn := memory.Turn{ID: "1", SessionID: "1", Speaker: "Ana", Role: memory.RoleUser, Text: said, Time: at}
	quoted, err := former.Extract(context.Background(), formation.Session{ID: "1", Turns: []memory.Turn{turn}})
	most := 0.0
	for _, c := range quoted {
		if moment.May(c, at) && m.Knows(c.Content, at) {
			most = max(most, m.Score(c.Content))
		}
	}
	return most, err
}

package training

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/moment"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// MomentVersion names the models that Moment makes.
const MomentVersion = "moment/1"

// MomentOptions say how the model of what matters for the moment only is trained.
type MomentOptions struct {
	StandingOptions
	// Repeats is how often a statement that was written for its label counts; Holders counts each time.
	Repeats int `json:"repeats"`
	// Losing is the share of lasting statements, among those that the threshold is chosen on, which may be taken for one of the moment.
	Losing float64 `json:"losing"`
}

// MomentDefaults are the options of the model that the binary carries.
func MomentDefaults() MomentOptions {
	return MomentOptions{StandingOptions: StandingOptions{Cost: 2, Holders: 31}, Repeats: 30, Losing: 0.001}
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

// onceOnly finds, in what writers of pairs and banks called their cases, exceptions and what holds for one occasion.
var onceOnly = regexp.MustCompile(`one-off|exception|\bonce\b|temporary|momentary|for now|\btoday\b|cancelled|skip`)

// momentStatements are what users say: of the moment are exceptions that change nothing, told as present; lasting is what banks have, what
// changes them or adds to them, what later requests need, and what constrains.
func momentStatements(split corpus.Split) (out needs, err error) {
	later := func(said, label, kind, batch string) {
		switch label {
		case relation.Unrelated.String():
			if onceOnly.MatchString(kind) && !text.TellsPast(text.Words(said)) {
				out.add(said, true, batch)
			}
		case relation.Same.String():
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
			later(p.Later, p.Label, p.Kind, p.Batch)
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
			later(l.Text, l.Label, l.Kind, b.Batch)
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

// writtenMoments are the statements of a split that were written for their labels.
func writtenMoments(split corpus.Split) (out needs, err error) {
	all, err := corpus.Moments()
	for _, m := range all {
		if m.Split() == split {
			out.add(m.Text, m.Passes(), m.Batch)
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
	train, err := momentStatements(corpus.Train)
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
	m := &moment.Model{Model: *train.fit(o.StandingOptions)}
	m.Version = MomentVersion
	return m, r, r.measure(m)
}

func (o MomentOptions) check() error {
	switch {
	case o.Repeats < 1 || o.Repeats > 1000:
		return fault.Terminal("repeats", "is %d, want 1 to 1000", o.Repeats)
	case !(o.Losing > 0 && o.Losing < 1):
		return fault.Terminal("losing", "is %v, want more than 0 and less than 1", o.Losing)
	}
	return o.StandingOptions.check()
}

// measure chooses the threshold and fills in the record.
func (r *MomentRecord) measure(m *moment.Model) error {
	former := embedded.NewFormer(embedded.IdentityOf("moment"))
	for _, x := range []struct {
		of     func(corpus.Split) (needs, error)
		splits []corpus.Split
		out    *MomentFigures
	}{
		{momentStatements, []corpus.Split{corpus.Choose}, &r.Chosen}, {momentStatements, []corpus.Split{corpus.Heldout}, &r.Heldout},
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
			most := len(lasting) - 1 - int(r.Options.Losing*float64(len(lasting)))
			m.Threshold = min(0.9999, max(1e-4, rounded(lasting[most]+1e-4)))
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
		if moment.May(c, at) {
			most = max(most, m.Score(c.Content))
		}
	}
	return most, err
}

package training_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/relation/crossencoder"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

// some returns enough statements to train a small model.
func some(t *testing.T) (train, choose []corpus.Among) {
	t.Helper()
	pairs, err := corpus.Pairs()
	if err != nil {
		t.Fatal(err)
	}
	return corpus.AmongStrangers(corpus.Of(pairs, corpus.Train)[:120], 3, 1),
		corpus.AmongStrangers(corpus.Of(pairs, corpus.Choose)[:60], 3, 1)
}

func TestTrainingRelationsIsDeterministic(t *testing.T) {
	train, choose := some(t)
	o := training.RelationDefaults()
	o.Rounds, o.Groups = 5, 4
	var files [2][]byte
	for i := range files {
		m, r, err := training.Relation(train, choose, o)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		var written training.RelationRecord
		if err := json.Unmarshal(m.Training(), &written); err != nil || written != r || r.Options != o ||
			r.Statements != 120 || r.Changes == 0 {
			t.Errorf("recorded %+v, %v; returned %+v", written, err, r)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two trainings differ")
	}
	if _, err := relation.Parse(files[0], wordvector.Shipped()); err != nil {
		t.Error(err)
	}
}

func TestTheShippedRelationsAreOfTheDefaults(t *testing.T) {
	var r training.RelationRecord
	if err := json.Unmarshal(relation.Shipped().Training(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Options != training.RelationDefaults() {
		t.Errorf("the model is of %+v, the defaults are %+v", r.Options, training.RelationDefaults())
	}
	o := r.Options
	o.Lives = 0 // the options make them; the corpus grows
	train, err := training.Statements(t.Context(), corpus.Train, o)
	if err != nil {
		t.Fatal(err)
	}
	if digest := training.DigestOf(train); digest != r.Digest {
		t.Error("the statements are others than the model is of: run `mneme-lab train relation --out shared/formation/relation/model.bin`")
	}
}

func TestTheShippedJudgeIsOfTheDefaults(t *testing.T) {
	var r training.JudgeRecord
	if err := json.Unmarshal(crossencoder.ShippedChoice().Training, &r); err != nil {
		t.Fatal(err)
	}
	choose, err := training.Statements(t.Context(), corpus.Choose, training.RelationDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if want := (training.JudgeRecord{Options: training.JudgeDefaults(), Chosen: len(choose),
		Digest: training.DigestOf(choose)}); r != want {
		t.Errorf("the choice is of %+v, want %+v: run `make cross-encoder`", r, want)
	}
}

func TestAJudgesChoiceIsMadeOnOtherStatements(t *testing.T) {
	_, choose := some(t)
	c, err := training.JudgeChoice(choose, training.JudgeDefaults())
	at := c.Thresholds
	if err != nil || !(0 < at.Possible && at.Possible <= at.Certain && at.Certain < 1) || c.Temperature <= 0 {
		t.Errorf("chose %+v, %v", c, err)
	}
	o := training.JudgeDefaults()
	o.FalsePossible = o.FalseCertain / 2
	if _, err := training.JudgeChoice(choose, o); !fault.IsTerminal(err) {
		t.Errorf("possible above certain: got %v", err)
	}
	o = training.JudgeDefaults()
	o.Most = 0
	if _, err := training.JudgeChoice(choose, o); !fault.IsTerminal(err) {
		t.Errorf("nothing asked: got %v", err)
	}
	if _, err := training.JudgeChoice(nil, training.JudgeDefaults()); !fault.IsTerminal(err) {
		t.Errorf("nothing to choose on: got %v", err)
	}
}

func TestStatementsAreWrittenALineEach(t *testing.T) {
	train, _ := some(t)
	var out bytes.Buffer
	if err := training.WriteStatements(&out, train, []string{"how are you?"}, relation.Shipped()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(train)+1 {
		t.Fatalf("%d lines for %d statements and one of small talk", len(lines), len(train))
	}
	var line struct {
		Later  string
		Stored []string
		Of     int
		Does   string
		Change []float64
		Facts  []string
	}
	for i, a := range train {
		line.Facts = nil
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatal(err)
		}
		if a.Looks >= 0 && len(line.Facts) > 1 && !strings.Contains(a.Stored[a.Looks].Text, line.Facts[0]) {
			t.Errorf("line %d tells facts %q of %q", i, line.Facts, a.Stored[a.Looks].Text)
		}
		if line.Later != a.Later.Text || len(line.Stored) != len(a.Stored) || line.Of != a.Looks ||
			line.Does != a.Label.String() ||
			len(line.Change) != len(a.Stored) {
			t.Errorf("line %d is %+v", i, line)
		}
	}
	err := json.Unmarshal([]byte(lines[len(train)]), &line)
	if err != nil || line.Later != "how are you?" || len(line.Stored) != 0 || line.Of != -1 {
		t.Errorf("small talk is %+v, %v", line, err)
	}
}

func TestTrainingRelationsRefusesWhatCannotBe(t *testing.T) {
	train, choose := some(t)
	for name, change := range map[string]func(*training.RelationOptions){
		"no cost": func(o *training.RelationOptions) {
			o.Cost = 0
		}, "no round": func(o *training.RelationOptions) { o.Rounds = 0 },
		"no group": func(o *training.RelationOptions) {
			o.Groups = 0
		}, "too many groups": func(o *training.RelationOptions) { o.Groups = 256 },
		"features of nobody": func(o *training.RelationOptions) { o.Holders = 0 },
		"fewer than none":    func(o *training.RelationOptions) { o.Strangers = -1 },
		"possible above certain": func(o *training.RelationOptions) {
			o.FalsePossible = o.FalseCertain / 2
		},
	} {
		o := training.RelationDefaults()
		change(&o)
		if _, _, err := training.Relation(train, choose, o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, _, err := training.Relation(nil, choose, training.RelationDefaults()); !fault.IsTerminal(err) {
		t.Errorf("nothing to learn from: got %v", err)
	}
}

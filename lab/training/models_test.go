package training_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/query/intent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recipe returns a training with some options changed, each as a flag and its value.
func recipe(t *testing.T, name string, change ...string) training.Recipe {
	t.Helper()
	all := training.Recipes()
	r := all[slices.IndexFunc(all, func(r training.Recipe) bool { return r.Name == name })]
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	training.Flags(flags, r.Options)
	for pair := range slices.Chunk(change, 2) {
		if err := flags.Set(pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func train(t *testing.T, r training.Recipe) training.Made {
	t.Helper()
	m, err := r.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func shipped(t *testing.T, r training.Recipe) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", r.File))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A training of a network takes too long for a test. The digest of its data shows whether a new training is due.
func TestTheShippedNetworksAreOfTheDefaults(t *testing.T) {
	for name, data := range map[string]func(options any) (any, string, error){
		"filter": func(o any) (any, string, error) {
			r, _, err := training.FilterData(*o.(*training.FilterOptions))
			return r.Options, r.Digest, err
		},
		"commitment": func(o any) (any, string, error) {
			r, _, err := training.CommitmentData(*o.(*training.CommitmentOptions))
			return r.Options, r.Digest, err
		},
		"constraint": func(o any) (any, string, error) {
			r, _, err := training.ConstraintData(*o.(*training.ConstraintOptions))
			return r.Options, r.Digest, err
		},
	} {
		r := recipe(t, name)
		m, err := classifier.Parse[saliency.Model](shipped(t, r))
		if err != nil {
			t.Fatal(err)
		}
		var written struct {
			Options json.RawMessage `json:"options"`
			Digest  string          `json:"digest"`
		}
		if err := json.Unmarshal(m.Training, &written); err != nil {
			t.Fatal(err)
		}
		options, digest, err := data(r.Options)
		if err != nil {
			t.Fatal(err)
		}
		have, want := bytes.Buffer{}, []byte(nil)
		if err := json.Compact(&have, written.Options); err != nil {
			t.Fatal(err)
		}
		if want, err = json.Marshal(options); err != nil || have.String() != string(want) || digest != written.Digest {
			t.Errorf("%s: the shipped model is of %s and data %s, want %s and %s: run `mneme-lab train %s --out %s`",
				name, &have, written.Digest, want, digest, name, r.File)
		}
	}
}

func TestTheShippedNetworksHoldOnOtherData(t *testing.T) {
	var commitment training.CommitmentRecord
	var constraint training.ConstraintRecord
	for name, record := range map[string]any{"commitment": &commitment, "constraint": &constraint} {
		m, err := classifier.Parse[saliency.Model](shipped(t, recipe(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(m.Training, record); err != nil {
			t.Fatal(err)
		}
	}
	if h := commitment.Heldout; h.Others < 150 || 50*h.OthersPassed > h.Others || 4*h.CommitPassed < h.Commit {
		t.Errorf("of sentences held out it passes %+v", h)
	}
	if constraint.Written.AUC < 0.85 || constraint.Heldout.AUC < 0.7 {
		t.Errorf("constraints have AUC %v and %v", constraint.Written.AUC, constraint.Heldout.AUC)
	}
}

// The other models are fast to train.
func TestTrainingGivesTheShippedModels(t *testing.T) {
	for name, holds := range map[string]func(record any) bool{
		"intent": func(any) bool {
			questions, err := corpus.Questions(corpus.Heldout)
			f := training.MeasureIntent(intent.Trained(), questions)
			return err == nil && 4*f.Right > 3*f.Questions && 5*f.Found > 4*(f.Found+f.Wrong+f.WrongEvents) &&
				20*f.Found > 13*f.Past &&
				10*f.DatesRight > 7*f.Dates
		},
		"moment": func(record any) bool { // no chosen or held-out statement that later conversations need is of the moment
			r := record.(*training.MomentRecord)
			for _, f := range []training.MomentFigures{r.Chosen, r.Heldout, r.Written, r.Needed} {
				if f.Lasting == 0 || f.Lost > 0 {
					return false
				}
			}
			return 8*r.Written.Found >= r.Written.Passing
		},
		"quarantine": func(record any) bool {
			f := record.(training.QuarantineRecord).Mixed
			return f.Harmless >= 2000 && 5000*f.Taken <= f.Harmless && 20*f.Doubted <= f.Harmless &&
				100*f.Missed <= 90*f.Hostile && 100*f.Trusted <= 27*f.Hostile
		},
		"standing": func(record any) bool {
			r := record.(*training.StandingRecord)
			return r.Turns >= 2_000 && r.Needed >= 700 && r.AUC >= 0.8
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := recipe(t, name)
			m := train(t, r)
			if !bytes.Equal(m.File, shipped(t, r)) || len(m.File) > 310_000 {
				t.Errorf("training makes another model of %d bytes: run `mneme-lab train %s --out %s`", len(m.File), name, r.File)
			}
			if !holds(m.Record) {
				t.Errorf("held-out data: %+v", m.Record)
			}
		})
	}
}

func TestTheSameOptionsMakeTheSameModel(t *testing.T) {
	for name, options := range map[string][]string{
		"filter":     {"persons", "4", "epochs", "1", "recall", "0.93"},
		"commitment": {"epochs", "1"},
		"constraint": {"epochs", "1", "phrased", "60"},
		"relevance":  {"dialogues", "3", "users", "12"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := train(t, recipe(t, name, options...)), train(t, recipe(t, name, options...))
			if !bytes.Equal(first.File, second.File) {
				t.Error("the second model differs from the first")
			}
			if r, ok := first.Record.(*training.RelevanceReport); ok {
				if h := r.Heldout[0]; r.Requests < 50 || h.Requests < 50 || h.Said-h.Is > 0.1 || h.Is-h.Said > 0.1 {
					t.Errorf("report %+v, want the prediction to be within a tenth of the truth", r)
				}
			}
		})
	}
}

func TestALowerRecallOfTheFilterDropsMore(t *testing.T) {
	options := []string{"persons", "4", "epochs", "1", "recall", "0.93"}
	all := train(t, recipe(t, "filter", options...))
	few := train(t, recipe(t, "filter", append(options, "recall", "0.8", "seed", "2")...))
	if bytes.Equal(all.File, few.File) {
		t.Error("other options make the same model")
	}
	a, b := all.Record.(*training.FilterRecord), few.Record.(*training.FilterRecord)
	if a.MadeUp.AUC < 0.85 || a.Heldout.AUC < 0.75 || a.Loss > 0.5 {
		t.Errorf("AUC %.3f and %.3f, loss %.3f", a.MadeUp.AUC, a.Heldout.AUC, a.Loss)
	}
	if a.Chosen.NeededKept < a.Options.Recall || a.Chosen.Dropped < 0.05 {
		t.Errorf("the threshold keeps %.3f of the needed and drops %.3f", a.Chosen.NeededKept, a.Chosen.Dropped)
	}
	if b.Chosen.NeededKept >= a.Chosen.NeededKept || b.Chosen.Dropped <= a.Chosen.Dropped {
		t.Errorf("recall 0.8: %+v, recall %v: %+v", b.Chosen, a.Options.Recall, a.Chosen)
	}
}

// outOfRange has a wrong value for each option with a range.
var outOfRange = map[string]string{
	"persons": "1", "recall": "1", "recall-weight": "0", "epochs": "0", "rate": "0", "decay": "1", "passing": "1",
	"phrased": "-1",
	"alarms":  "0", "doubts": "0.0001", "plain": "-1", "cost": "0", "date-cost": "0", "holders": "0", "repeats": "0",
	"false-past":    "NaN",
	"conversations": "0", "users": "0", "dialogues": "3,0", "rounds": "0", "most": "-1", "false-certain": "0",
	"false-possible": "1",
	"from":           "101", "share": "-101", "message": "NaN",
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for _, r := range training.Recipes() {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		training.Flags(flags, r.Options)
		checked := 0
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Name == "seed" || f.Name == "errors" {
				return
			}
			checked++
			changed := recipe(t, r.Name, f.Name, outOfRange[f.Name])
			if _, err := changed.Train(t.Context()); !fault.IsTerminal(err) || fault.Field(err) != f.Name {
				t.Errorf("%s: got %v, want a terminal error about %s", r.Name, err, f.Name)
			}
		})
		if checked == 0 {
			t.Errorf("%s has no option to check", r.Name)
		}
	}
	r := recipe(t, "relevance")
	reflect.ValueOf(r.Options).Elem().FieldByName("Dialogues").SetLen(0)
	if _, err := r.Train(t.Context()); fault.Field(err) != "dialogues" {
		t.Errorf("without a number of dialogues: got %v", err)
	}
}

func TestAnIntervalHasItsClosedBounds(t *testing.T) {
	for interval, want := range map[string][3]bool{
		"[0,1]": {true, true, true}, "(0,1)": {false, true, false}, "[0,1)": {true, true, false}, "[0,]": {true, true, true},
		"(,1)": {true, true, false},
	} {
		for i, x := range []float64{0, 0.5, 1} {
			if training.Within(x, interval) != want[i] {
				t.Errorf("%v in %s: want %t", x, interval, want[i])
			}
		}
	}
}

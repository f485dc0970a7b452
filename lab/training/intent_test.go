package training_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/query/intent"
)

func questions(t *testing.T, s corpus.Split) []corpus.Question {
	t.Helper()
	out, err := corpus.Questions(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTrainingIntentsGivesTheShippedModel(t *testing.T) {
	m, r, err := training.Intent(questions(t, corpus.Train), questions(t, corpus.Choose), training.IntentDefaults())
	if err != nil {
		t.Fatal(err)
	}
	made, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := intent.Trained().Encode()
	if err != nil {
		t.Fatal(err)
	}
	var written training.IntentRecord
	if err := json.Unmarshal(intent.Trained().Training, &written); err != nil || written != r {
		t.Errorf("the shipped model is of %+v, %v; the questions and defaults give %+v: train it anew", written, err, r)
	}
	if !bytes.Equal(made, shipped) {
		t.Error("the shipped model is not what its questions and defaults give: train it anew")
	}
}

func TestTheShippedIntentsHoldOnOtherQuestions(t *testing.T) {
	f := training.MeasureIntent(intent.Trained(), questions(t, corpus.Heldout))
	if f.Accuracy() < 0.75 || f.Precision() < 0.8 || f.Recall() < 0.65 || f.DatesRight*10 < f.Dates*7 {
		t.Errorf("accuracy %.3f, precision %.3f, recall %.3f: %+v", f.Accuracy(), f.Precision(), f.Recall(), f)
	}
}

func TestTrainingIntentsRefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*training.IntentOptions){
		"no cost": func(o *training.IntentOptions) { o.Cost = 0 }, "no holders": func(o *training.IntentOptions) { o.Holders = 0 },
		"no weight": func(o *training.IntentOptions) { o.FalsePast = 0 },
	} {
		o := training.IntentDefaults()
		change(&o)
		if _, _, err := training.Intent(questions(t, corpus.Train)[:9], questions(t, corpus.Choose)[:9], o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, _, err := training.Intent(nil, nil, training.IntentDefaults()); !fault.IsTerminal(err) {
		t.Errorf("no questions: got %v", err)
	}
}

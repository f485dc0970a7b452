package training_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// knowing is an embedder with knowledge of the answers: it embeds the turns of evidence in place of their question.
type knowing struct {
	embedding.Embedder
	evidence map[string]string
}

func (knowing) Model() string { return "knowing/256" }

func (k knowing) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	known := make([]string, len(texts))
	for i, text := range texts {
		known[i] = text
		if told, ok := k.evidence[text]; ok {
			known[i] = told
		}
	}
	return k.Embedder.Embed(ctx, known)
}

func knowingOf(subjects []dataset.Subject) knowing {
	k := knowing{builtin.New(), map[string]string{}}
	for _, s := range subjects {
		said := map[string]string{}
		for _, session := range s.Sessions {
			for _, turn := range session.Turns {
				said[turn.ID] = turn.Text
			}
		}
		for _, q := range s.Questions {
			var told []string
			for _, id := range q.Evidence {
				told = append(told, said[id])
			}
			k.evidence[q.Text] = strings.Join(told, " ")
		}
	}
	return k
}

func madeUp(t *testing.T, conversations int) []dataset.Subject {
	t.Helper()
	o := training.PriorDefaults()
	o.Conversations = conversations
	subjects, err := o.MadeUp()
	if err != nil {
		t.Fatal(err)
	}
	return subjects
}

// at returns the recall of weights with the most candidates and ten memories shown.
func at(r training.RefitReport, weights string) float64 {
	for _, measured := range r.Recall {
		if measured.Weights == weights && measured.Candidates == 200 && measured.Shown == 10 {
			return measured.Recall
		}
	}
	return -1
}

func TestRefitReliesOnAnEmbedderThatDeservesIt(t *testing.T) {
	subjects := madeUp(t, 2)
	for i := range subjects {
		subjects[i].Questions = subjects[i].Questions[:min(30, len(subjects[i].Questions))]
	}
	o := training.RefitDefaults()
	o.Embedder = knowingOf(subjects)
	var files [2][]byte
	for i := range files {
		p, r, err := training.Refit(t.Context(), subjects, o)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = ranking.EncodePrior(p); err != nil {
			t.Fatal(err)
		}
		if r.Users != 2 || r.Parts != 2 || r.Questions < 50 || r.Embedding != "knowing/256" || p.Embedding != "knowing/256" {
			t.Errorf("report %+v", r)
		}
		if r.SimilarityAfter < 2*r.SimilarityBefore || at(r, training.WeightsRefit) < at(r, training.WeightsShipped)+0.02 ||
			r.Gains[0].Difference <= 0 {
			t.Errorf(
				"the cosine counts %.2f, before %.2f; recall@10 is %.3f, before %.3f, gain@5 %+v",
				r.SimilarityAfter,
				r.SimilarityBefore,
				at(r, training.WeightsRefit),
				at(r, training.WeightsShipped),
				r.Gains[0],
			)
		}
		if _, err := ranking.DecodePrior(files[i], features.FeatureSet, features.Names()); err != nil ||
			r.Maps != (len(p.Weights.Aq) > 0) {
			t.Errorf("%v; maps of %d cells, said to be there: %t", err, len(p.Weights.Aq), r.Maps)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two fits differ")
	}
}

func TestRefitRefusesWhatCannotBe(t *testing.T) {
	subjects := madeUp(t, 2)
	for name, change := range map[string]func(*training.RefitOptions){
		"one part": func(o *training.RefitOptions) {
			o.Parts = 1
		}, "perhaps": func(o *training.RefitOptions) { o.Maps = "perhaps" },
		"maps without a pull": func(o *training.RefitOptions) { o.Training.MapPull = 0 },
		"one user":            func(*training.RefitOptions) { subjects[1].Questions = nil },
	} {
		o := training.RefitDefaults()
		o.Embedder = builtin.New()
		change(&o)
		if _, _, err := training.Refit(t.Context(), subjects, o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

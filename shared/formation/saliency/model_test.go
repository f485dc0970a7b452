package saliency_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tiny is a model without words.
func tiny(t testing.TB, change func(*saliency.Model)) []byte {
	t.Helper()
	m := saliency.Model{Header: classifier.Header{Version: "x"}, Threshold: 0.5}
	m.SetNetwork(saliency.NewNetwork(nil))
	if change != nil {
		change(&m)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseRefusesWhatCannotDecide(t *testing.T) {
	if _, err := saliency.Parse(tiny(t, nil)); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty":            nil,
		"no object":        []byte(`[]`),
		"no version":       tiny(t, func(m *saliency.Model) { m.Version = "" }),
		"no threshold":     tiny(t, func(m *saliency.Model) { m.Threshold = 0 }),
		"sure threshold":   tiny(t, func(m *saliency.Model) { m.Threshold = 1 }),
		"no words":         tiny(t, func(m *saliency.Model) { m.Words = "" }),
		"a word too many":  tiny(t, func(m *saliency.Model) { m.Words += " height" }),
		"a weight missing": tiny(t, func(m *saliency.Model) { m.Weights = m.Weights[1:] }),
		"a weight more":    tiny(t, func(m *saliency.Model) { m.Weights = append(m.Weights, 1) }),
		"a scale missing":  tiny(t, func(m *saliency.Model) { m.Scales = m.Scales[1:] }),
		"a scale below 0":  tiny(t, func(m *saliency.Model) { m.Scales[0] = -1 }),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := saliency.Parse(data); !errors.Is(err, classifier.ErrModel) {
				t.Errorf("got %v, want ErrModel", err)
			}
		})
	}
}

func TestNewFilterRefusesWhatIsNoModel(t *testing.T) {
	_, err := saliency.NewFilter(&saliency.Model{Header: classifier.Header{Version: "x"}, Threshold: 0.5})
	if !errors.Is(err, classifier.ErrModel) {
		t.Errorf("got %v, want ErrModel", err)
	}
}

func FuzzParse(f *testing.F) {
	good, err := os.ReadFile("model.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(tiny(f, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		filter, err := saliency.Parse(data)
		if err == nil {
			filter.Score(memory.Turn{Role: memory.RoleUser, Text: "I sold my bike."})
		}
	})
}

// The gradient equals the change of the score by a change of a weight.
func TestGradient(t *testing.T) {
	n := saliency.NewNetwork([]string{"i", "sold", "my", "bike", ",", "how", "n't"})
	r := rand.New(rand.NewPCG(1, 1))
	for _, part := range n.Parts() {
		for i := range part {
			part[i] = float32(r.NormFloat64() * 0.4)
		}
	}
	reading := saliency.Read(memory.Turn{
		Speaker: "Ana", Role: memory.RoleUser, Text: "I sold my bike in Leeds for 40, didn't I? How is yours, Qwertz?",
		Caption: "a red bike",
	})
	words := n.Index().Places(&reading)
	var p saliency.Pass
	score := func() float64 {
		n.Run(&p, &reading, words)
		return float64(p.Logit)
	}
	score()
	g := saliency.NewNetwork(n.Words[2:])
	n.Gradient(&p, &reading, words, 1, g)
	checked := 0
	for k, part := range n.Parts() {
		for i := range part {
			want := g.Parts()[k][i]
			const step = 1e-2
			was := part[i]
			part[i] = was + step
			up := score()
			part[i] = was - step
			down := score()
			part[i] = was
			if got := (up - down) / (2 * step); math.Abs(got-float64(want)) > 0.02+0.05*math.Abs(got) {
				t.Errorf("part %d, weight %d: gradient %v, difference %v", k, i, want, got)
			}
			if want != 0 {
				checked++
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d weights have a gradient", checked)
	}
}

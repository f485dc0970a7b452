package link_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
)

var features = []string{"a", "b", "c"}

// examples are changes where a is set without b; c is noise.
func examples() []link.Example {
	var out []link.Example
	for i := range 400 {
		a, b := i%2, (i/2)%2
		e := link.Example{X: []float64{float64(a), float64(b), float64(i % 7)}}
		if a > b {
			e.Y = 1
		}
		out = append(out, e)
	}
	return out
}

func TestTrainLearnsFromSeveralFeatures(t *testing.T) {
	m := link.Train(features, examples(), link.DefaultOptions())
	for _, x := range [][]float64{{0, 0, 3}, {0, 1, 3}, {1, 0, 3}, {1, 1, 3}} {
		if p := m.Probability(x); (p > 0.5) != (x[0] > x[1]) {
			t.Errorf("%v: got %g", x, p)
		}
	}
	if again := link.Train(features, examples(), link.DefaultOptions()); !reflect.DeepEqual(m, again) {
		t.Error("two trainings differ")
	}
}

func TestParseReadsWhatTrainMakes(t *testing.T) {
	m := link.Train(features, examples(), link.DefaultOptions())
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	read, err := link.Parse(raw, features)
	if err != nil || !reflect.DeepEqual(m, read) {
		t.Errorf("read %+v, %v", read, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no json": `{`, "other features": `{"features":["a","b","x"]}`, "fewer features": `{"features":["a"]}`,
		"empty tree":      `{"features":["a","b","c"],"trees":[[]]}`,
		"loop":            `{"features":["a","b","c"],"trees":[[{"f":0,"l":0,"r":0},{"l":1,"r":1}]]}`,
		"outside":         `{"features":["a","b","c"],"trees":[[{"f":0,"l":1,"r":2},{}]]}`,
		"no such feature": `{"features":["a","b","c"],"trees":[[{"f":3,"l":1,"r":2},{},{}]]}`,
	} {
		if _, err := link.Parse([]byte(text), features); !errors.Is(err, link.ErrModel) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"features":["a","b","c"],"bias":1,"trees":[[{"f":0,"at":1,"l":1,"r":2},{"v":1},{"v":2}]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := link.Parse([]byte(text), features)
		if err != nil {
			return
		}
		if p := m.Probability([]float64{1, 2, 3}); p < 0 || p > 1 {
			t.Fatalf("probability %g", p)
		}
	})
}

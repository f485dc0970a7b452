package wordvector_test

import (
	"errors"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

func TestWordsOfLikeMeaningAreNear(t *testing.T) {
	table := wordvector.Shipped()
	similarity := func(a, b string) float32 {
		t.Helper()
		x, okX := table.Find(a)
		y, okY := table.Find(b)
		if !okX || !okY {
			t.Fatalf("%s %t, %s %t: want both known", a, okX, b, okY)
		}
		return table.Similarity(x, y)
	}
	for _, c := range [][3]string{
		{"violin", "instrument", "dentist"}, {"parrot", "pet", "mortgage"}, {"sister", "brother", "engine"},
		{"hiking", "mountain", "engine"},
	} {
		if near, far := similarity(c[0], c[1]), similarity(c[0], c[2]); near <= far {
			t.Errorf("%s is as near to %s (%.2f) as to %s (%.2f)", c[0], c[2], far, c[1], near)
		}
	}
	if s := similarity("violin", "violins"); s < 0.999 && s < similarity("violin", "piano") {
		t.Errorf("violin and violins: %.3f", s)
	}
}

func TestAddMakesWhatSimilarityCompares(t *testing.T) {
	table := wordvector.Shipped()
	a, _ := table.Find("violin")
	b, _ := table.Find("guitar")
	x, y := make([]float32, table.Dimension()), make([]float32, table.Dimension())
	table.Add(x, a, 2)
	table.Add(y, b, 0.5)
	var dot float32
	for i := range x {
		dot += x[i] * y[i]
	}
	if d := dot - table.Similarity(a, b); d > 1e-4 || d < -1e-4 {
		t.Errorf("inner product %f, similarity %f", dot, table.Similarity(a, b))
	}
}

func TestParseRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing": "", "another file": "GIF89a......", "too many words": "MWV1\xff\xff\xff\xff\x02\x00\x00\x00a\n12",
		"no end of a word": "MWV1\x01\x00\x00\x00\x01\x00\x00\x00abc",
		"a word twice":     "MWV1\x02\x00\x00\x00\x01\x00\x00\x00a\na\n12",
		"numbers missing":  "MWV1\x01\x00\x00\x00\x02\x00\x00\x00a\n1",
		"no dimension":     "MWV1\x01\x00\x00\x00\x00\x00\x00\x00a\n",
	} {
		if _, err := wordvector.Parse([]byte(raw)); !errors.Is(err, wordvector.ErrFormat) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("MWV1\x01\x00\x00\x00\x02\x00\x00\x00ab\n12"))
	f.Add([]byte("MWV1\x02\x00\x00\x00\x01\x00\x00\x00a\nb\n12"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, err := wordvector.Parse(raw)
		if err != nil {
			return
		}
		for _, w := range []string{"a", "abs"} {
			if i, ok := table.Find(w); ok {
				table.Add(make([]float32, table.Dimension()), i, table.Similarity(i, i))
			}
		}
	})
}

package builtin_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// golden is the hash of the vectors of goldenTexts. When it changes, every stored vector is out of date. Raise the
// version in builtin.Model with it.
const golden = "6dc3f553f341c81f3278c2a6be1ed2f10d2f18dbe461a6c18b16cf03e9468951"

var goldenTexts = []string{
	"I moved to Lisbon last spring with my two dogs.",
	"Ana's sister doesn't eat meat, and she hasn't for 12 years!",
	"Meet me at 7:30 on 2023-05-08; it costs $1,250.50",
	"Zoë wohnt in Zürich und trinkt gern Kaffee.",
	"私は東京に住んでいます。 แมวสองตัว",
	"the the the of and", "?!", "Привет, Ёлка", "naïve café CAFÉ", "👩‍👩‍👧 emoji only here",
}

func embed(t testing.TB, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := builtin.New().Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func TestGoldenVectors(t *testing.T) {
	h := sha256.New()
	for _, v := range embed(t, goldenTexts...) {
		for _, x := range v {
			_ = binary.Write(h, binary.LittleEndian, math.Float32bits(x))
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != golden {
		t.Errorf("vectors of %s hash to %s, want %s: stored vectors no longer compare, raise the model's version",
			builtin.Model, got, golden)
	}
}

func TestPort(t *testing.T) {
	e := builtin.New()
	if e.Dimension() != 256 || e.Model() != "mneme-hash-256-v2" {
		t.Errorf("got %d dimensions of %s", e.Dimension(), e.Model())
	}
	if got, err := e.Embed(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("no texts: got %v, error %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v", err)
	}
}

func TestSameVector(t *testing.T) {
	for name, c := range map[string]struct{ a, b string }{
		"case":                 {"Ana LIVES in Rome", "ana lives in rome"},
		"punctuation":          {"Ana lives, in Rome!", "Ana lives in Rome"},
		"accents":              {"José at the café", "Jose at the cafe"},
		"composition":          {"caf\u00e9", "cafe\u0301"},
		"possessive":           {"Ana's dog", "Ana dog"},
		"typographic quotes":   {"Ana\u2019s dog", "Ana's dog"},
		"inflection":           {"running dogs", "run dog"},
		"thousands separators": {"12,500 euros", "12500 euros"},
		"full width":           {"\uff21\uff4e\uff41", "Ana"},
	} {
		t.Run(name, func(t *testing.T) {
			if v := embed(t, c.a, c.b); !slices.Equal(v[0], v[1]) {
				t.Errorf("%q and %q are told apart (cosine %.3f)", c.a, c.b, cosine(v[0], v[1]))
			}
		})
	}
}

func TestNearer(t *testing.T) {
	for name, c := range map[string]triple{
		"numbers count":              {"She paid 300", "She paid 300 again", "She paid 450"},
		"dates count":                {"On 2023-05-08", "On 2023-05-08 there", "On 2021-11-30"},
		"parts of dates count":       {"born 2019-03-04", "born 2019", "born 1987"},
		"order counts":               {"market analyst report", "market analyst report today", "report analyst market today"},
		"misspelt names are near":    {"Alexandria", "Alexandrya", "Montpellier"},
		"stop words hardly count":    {"the dog and the cat", "dog cat", "the and the of it"},
		"scripts without spaces":     {"東京に住んでいます", "東京に住む", "猫が好きです"},
		"the subject beats function": {"I have been to the opera", "opera", "I have been to the gym"},
	} {
		t.Run(name, func(t *testing.T) {
			if closer(t, []triple{c}) != 1 {
				t.Error("the second is not nearer to the first than the third")
			}
		})
	}
}

func TestZeroVector(t *testing.T) {
	for _, text := range []string{"", " \t\n", "?!…", "\xff\xfe", "\u0301"} {
		v := embed(t, text)[0]
		if len(v) != builtin.Dimension || slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
			t.Errorf("%q: want %d zeros", text, builtin.Dimension)
		}
	}
}

// The vector of a text depends neither on its neighbours in the batch nor on earlier texts.
func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringN(0, 200, 400), 1, 5).Draw(r, "texts")
		together := embed(t, texts...)
		for i, text := range texts {
			if !slices.Equal(together[i], embed(t, text)[0]) {
				r.Fatalf("%q differs alone and in a batch", text)
			}
		}
	})
}

func FuzzEmbed(f *testing.F) {
	for _, text := range append(goldenTexts, "", "\x00", "a\xffb", strings.Repeat("x", 5000), "don't'", "1.2.3..4",
		"'''s") {
		f.Add(text)
	}
	e := builtin.New()
	f.Fuzz(func(t *testing.T, text string) {
		vectors, err := e.Embed(t.Context(), []string{text})
		if err != nil || len(vectors) != 1 || len(vectors[0]) != builtin.Dimension {
			t.Fatalf("got %d vectors, error %v", len(vectors), err)
		}
		if length := cosine(vectors[0], vectors[0]); length != 0 && math.Abs(length-1) > 1e-5 {
			t.Fatalf("squared length %v, want 0 or 1", length)
		}
	})
}

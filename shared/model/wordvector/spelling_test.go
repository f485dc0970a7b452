package wordvector_test

import (
	"math"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

func TestWordsOfLikeSpellingAreNear(t *testing.T) {
	spelled := func(term string) []float32 {
		v := make([]float32, wordvector.Shipped().Dimension())
		wordvector.Spell(v, term, 1)
		return v
	}
	cosine := func(a, b string) (sum float64) {
		x, y := spelled(a), spelled(b)
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		return sum
	}
	for _, term := range []string{"geburtstag", "猫", "猫の", "д"} {
		if got := cosine(term, term); math.Abs(got-1) > 1e-5 {
			t.Errorf("%q: its vector has length %v, want 1", term, got)
		}
	}
	for _, c := range []struct{ a, like, unlike string }{
		{"geburtstag", "geburtstagsfeier", "fahrrad"}, {"tanz", "tanzt", "garten"}, {"操作", "操业", "房子"},
		{"машин", "машинк", "подруг"},
	} {
		if like, unlike := cosine(c.a, c.like), cosine(c.a, c.unlike); like < 0.4 || unlike > 0.3 {
			t.Errorf("%q: %q is %.2f like it, %q %.2f, want much and little", c.a, c.like, like, c.unlike, unlike)
		}
	}
	if got := cosine("", "a"); math.IsNaN(got) {
		t.Error("no term has no vector of numbers")
	}
}

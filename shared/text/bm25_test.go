package text_test

import (
	"math"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestBM25Scores(t *testing.T) {
	p := text.BM25{K1: 1.2, B: 0.75}
	documents := []text.TermCounts{
		text.CountTerms([]string{"red", "van"}), text.CountTerms([]string{"van", "van", "blue", "lorry"}),
		text.CountTerms(nil),
	}
	got := p.Scores([]string{"van", "lorry", "kite"}, documents)
	van, lorry := text.InverseFrequency(2, 3), text.InverseFrequency(1, 3)
	for i, want := range []float64{van * p.Weight(1, 1), van*p.Weight(2, 2) + lorry*p.Weight(1, 2), 0} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("document %d: %v, want %v", i, got[i], want)
		}
	}
	if len(p.Scores([]string{"van"}, nil)) != 0 {
		t.Error("no documents have scores")
	}
}

func TestCalendarWords(t *testing.T) {
	words := text.CalendarWords()
	for word, want := range map[string]bool{"may": true, "march": true, "sunday": true, "weekend": true, "night": true,
		"mar": false} {
		if slices.Contains(words, word) != want {
			t.Errorf("%s: %t", word, !want)
		}
	}
}

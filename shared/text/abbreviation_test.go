package text_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestSentencesEndAtNoAbbreviation(t *testing.T) {
	s := text.NewSplitter()
	for said, want := range map[string][]string{
		"My doctor is Dr. Huber. I live in Graz.":          {"My doctor is Dr. Huber.", "I live in Graz."},
		"J. R. Smith called. My boss is Ana M. Lopez.":     {"J. R. Smith called.", "My boss is Ana M. Lopez."},
		"Ich mag Obst, z. B. Äpfel. Ich wohne in Graz.":    {"Ich mag Obst, z. B. Äpfel.", "Ich wohne in Graz."},
		"Vivo con la Sra. Ruiz. Tengo un perro.":           {"Vivo con la Sra. Ruiz.", "Tengo un perro."},
		"J'habite avec M. Durand. J'ai un chat.":           {"J'habite avec M. Durand.", "J'ai un chat."},
		"My flat is on Main St. I like it.":                {"My flat is on Main St.", "I like it."},
		"We chose plan B. Great choice.":                   {"We chose plan B.", "Great choice."},
		"Я живу на ул. Ленина. У меня есть кот.":           {"Я живу на ул. Ленина.", "У меня есть кот."},
		"I live in San Jose, CA. My sister lives in Reno.": {"I live in San Jose, CA.", "My sister lives in Reno."},
		"Compré pan. María vino.":                          {"Compré pan.", "María vino."},
		"Das ist, was ich mag. Anna kam.":                  {"Das ist, was ich mag.", "Anna kam."},
		"Ich liebe meine Frau. Anna kocht.":                {"Ich liebe meine Frau.", "Anna kocht."},
		"Mijn arts is Dr. de Vries. Ik woon in Den Haag.":  {"Mijn arts is Dr. de Vries.", "Ik woon in Den Haag."},
	} {
		if got := s.Sentences(said); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", said, got)
		}
	}
}

// TestAbbreviationsAreReadInPlace has words that the sentence splitter itself may not part.
func TestAbbreviationsAreReadInPlace(t *testing.T) {
	for _, said := range []string{
		"i burned my pan.| it is ruined", "I live in San Jose, CA.| My sister", "Subí al col.| Pedro vino",
		"I took my med.| Anna came",
		"Prendo l'av.| Anna viene", "Det gen.| Anna kom", "Ing.| Anna", "Fui al.| Anna vino",
		"I got an A.| Mum is happy.",
	} {
		before, behind, _ := strings.Cut(said, "|")
		if text.IsAbbreviated(before, behind) {
			t.Errorf("%q is abbreviated", before)
		}
	}
}

// TestManyDotsAreReadInBoundedTime has long lines of joined letters and of initials.
func TestManyDotsAreReadInBoundedTime(t *testing.T) {
	const size = 32 << 10
	joined := strings.Repeat("a.", size/2)
	allocations := func(n int) float64 {
		return testing.AllocsPerRun(1, func() { text.IsAbbreviated(joined[:n], joined[n:]) })
	}
	if short, long := allocations(64), allocations(size/2); long > short {
		t.Errorf("a dot in a long line takes %v allocations, in a short one %v", long, short)
	}
	for _, said := range []string{joined, strings.Repeat("A. ", size/3), strings.Repeat("J.R. ", size/5)} {
		if own, others := text.Voices(said, ""); len(own)+len(others) == 0 {
			t.Errorf("%q has no words", said[:8])
		}
	}
}

package text_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestSentencesEndAtNoAbbreviation(t *testing.T) {
	s := text.NewSplitter()
	for said, want := range map[string][]string{
		"My doctor is Dr. Huber. I live in Graz.":         {"My doctor is Dr. Huber.", "I live in Graz."},
		"J. R. Smith called. My boss is Ana M. Lopez.":    {"J. R. Smith called.", "My boss is Ana M. Lopez."},
		"Ich mag Obst, z. B. Äpfel. Ich wohne in Graz.":   {"Ich mag Obst, z. B. Äpfel.", "Ich wohne in Graz."},
		"Vivo con la Sra. Ruiz. Tengo un perro.":          {"Vivo con la Sra. Ruiz.", "Tengo un perro."},
		"J'habite avec M. Durand. J'ai un chat.":          {"J'habite avec M. Durand.", "J'ai un chat."},
		"My flat is on Main St. I like it.":               {"My flat is on Main St.", "I like it."},
		"We chose plan B. Great choice.":                  {"We chose plan B.", "Great choice."},
		"Я живу на ул. Ленина. У меня есть кот.":          {"Я живу на ул. Ленина.", "У меня есть кот."},
		"Mijn arts is Dr. de Vries. Ik woon in Den Haag.": {"Mijn arts is Dr. de Vries.", "Ik woon in Den Haag."},
	} {
		if got := s.Sentences(said); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", said, got)
		}
	}
}

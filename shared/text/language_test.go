package text_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestSplit(t *testing.T) {
	s := text.NewSplitter()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"I met Dr. Gray at 5 p.m. yesterday. It went well.",
			[]string{"I met Dr. Gray at 5 p.m. yesterday.", "It went well."}},
		{"Wow! Really? Yes.", []string{"Wow!", "Really?", "Yes."}},
		{"It cost $3.50 in the U.S. last year.", []string{"It cost $3.50 in the U.S. last year."}},
		{"first line\nsecond line", []string{"first line", "second line"}},
		{"It was great.I went home", []string{"It was great.", "I went home"}},
		{"Thanks!We left", []string{"Thanks!", "We left"}},
		{"Super!Ich komme", []string{"Super!", "Ich komme"}},
		{"It's fine!I'm in.", []string{"It's fine!", "I'm in."}},
		{"My pin is k9?Rw!Lo-7 now", []string{"My pin is k9?Rw!Lo-7 now"}},
		{"She works at Jump!Kids on Mondays", []string{"She works at Jump!Kids on Mondays"}},
		{"Der Schlüssel heißt XY!ZQ.Ab-3.", []string{"Der Schlüssel heißt XY!ZQ.Ab-3."}},
		{"It throws java.util.List errors", []string{"It throws java.util.List errors"}},
		{"  \n ", nil},
		{"", nil},
	} {
		if got := s.Split(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestWordsKeepWhatBelongsTogether(t *testing.T) {
	var got []string
	for _, w := range text.Words("I’m Ana-Maria’s friend, it's 3.50 at 5:30 (naïve)! 東京 - end-") {
		got = append(got, w.Lower)
	}
	want := []string{"i'm", "ana-maria's", "friend", "it's", "3.50", "at", "5:30", "naïve", "東京", "end"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestContentStems(t *testing.T) {
	got := text.ContentStems("The dogs were running to Ana's houses")
	if want := []string{"dog", "run", "ana", "hous"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzSplit(f *testing.F) {
	splitter := text.NewSplitter()
	for _, s := range []string{"A. B! C?", "\"Quoted.\" He", "...", "\xff.\x00?", strings.Repeat("!", 500),
		"e.g. this (i.e. that)",
		"مرحبا. كيف؟"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range splitter.Split(text) {
			if s == "" || s != strings.TrimSpace(s) {
				t.Fatalf("%q: sentence %q is not trimmed", text, s)
			}
			if utf8.ValidString(text) && !utf8.ValidString(s) {
				t.Fatalf("%q: sentence %q is not UTF-8", text, s)
			}
		}
	})
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"it's", "a-b", "1.5,6", "’’", "\xff\xfe", "é́"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, said string) {
		end := 0
		for _, w := range text.Words(said) {
			if w.Start < end || w.End <= w.Start || w.End > len(said) {
				t.Fatalf("%q: bad word %+v after %d", said, w, end)
			}
			end = w.End
			text.Stem(w.Lower)
		}
	})
}

package training

import (
	"hash/crc32"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Texts returns users' texts in the training split of the corpus, in alphabetical order, each once. They are the
// turns and later requests of the dialogues, the pairs, and two in five statements of the banks. All statements of
// the banks would outweigh the rest. The sentence vectors are fitted on them
// (shared/model/wordvector/distill_sentences.py). Very short and long texts, code and other scripts are left out.
func Texts() ([]string, error) {
	var out []string
	add := func(text string) {
		if n := len(strings.Fields(text)); n >= 3 && n <= 70 && !strings.Contains(text, "```") && isLatin(text) {
			out = append(out, text)
		}
	}
	for _, read := range []func() ([]corpus.Dialogue, error){corpus.Dialogues, corpus.Preferences} {
		dialogues, err := read()
		if err != nil {
			return nil, err
		}
		for _, d := range dialogues {
			if d.Split() != corpus.Train {
				continue
			}
			for _, t := range d.Turns {
				if t.Role == memory.RoleUser {
					add(t.Text)
				}
			}
			for _, r := range d.Requests {
				add(r.Text)
			}
		}
	}
	pairs, err := corpus.Pairs()
	if err != nil {
		return nil, err
	}
	for _, p := range corpus.Of(pairs, corpus.Train) {
		add(p.Stored)
		add(p.Later)
	}
	banks, err := corpus.Banks(corpus.Train)
	if err != nil {
		return nil, err
	}
	sample := func(text string) {
		if crc32.ChecksumIEEE([]byte(text))%5 < 2 {
			add(text)
		}
	}
	for _, b := range banks {
		for _, s := range b.Stored {
			sample(s)
		}
		for _, l := range b.Later {
			sample(l.Text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// isLatin reports whether all letters of a text are Latin.
func isLatin(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
}

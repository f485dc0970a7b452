package synthesis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/evaluation/synthesis/template"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Phrasing is a statement as somebody typed it, with what the same person says later about its matter.
type Phrasing struct {
	// Topic is a word or two. A person tells at most one phrasing of a topic, so that what they tell goes together.
	Topic string
	Told  string
	Later []Later
}

// Later is a later statement. Its evolution is expand, shift, end, again or near.
type Later struct {
	Said      string
	Evolution Evolution
}

// phrasingsALife is how many phrasings a person draws: about as many as there are themes.
const phrasingsALife = 40

// phrasedThemes makes a theme of each phrasing.
func phrasedThemes(phrasings []Phrasing) ([]*theme, error) {
	var out []*theme
	for i, p := range phrasings {
		where := fmt.Sprintf("phrasings[%d]", i)
		said, answer := keywords(p.Told), template.Literal(p.Told)
		if p.Topic == "" || len(said) == 0 {
			return nil, fault.Terminal(where, "has topic %q and tells %q, want a topic, and words", p.Topic, p.Told)
		}
		t := &theme{name: p.Topic, domain: p.Topic, kind: memory.KindFact, gist: &said[0], answer: &answer}
		t.ops = append(t.ops, phrasedOp("new", EvolutionNew, p.Told, said))
		for _, l := range p.Later {
			words := keywords(l.Said)
			switch l.Evolution {
			case EvolutionExpand, EvolutionShift, EvolutionEnd, EvolutionAgain, EvolutionNear:
			default:
				return nil, fault.Terminal(where, "has a later %q, want expand, shift, end, again or near", l.Evolution)
			}
			if len(words) == 0 {
				continue // "no", which nothing can be told by
			}
			o := phrasedOp(string(l.Evolution), l.Evolution, l.Said, words)
			o.from = []string{"new"} // what it says is of the statement as it was told first
			t.ops = append(t.ops, o)
		}
		out = append(out, t)
	}
	return out, nil
}

func phrasedOp(name string, e Evolution, said string, words []template.Phrase) *op {
	literal := template.Literal(said)
	return &op{name: name, evolution: e, statement: literal, keywords: words, say: []template.Phrase{literal}}
}

// keywords are the three longest words of content, in the order that they stand in; the first again where there are fewer.
func keywords(said string) []template.Phrase {
	var words []string
	for _, w := range text.Words(said) {
		if !text.IsStopWord(w.Lower) && !slices.Contains(words, w.Lower) {
			words = append(words, w.Lower)
		}
	}
	longest := slices.Clone(words)
	slices.SortStableFunc(longest, func(a, b string) int { return cmp.Compare(utf8.RuneCountInString(b), utf8.RuneCountInString(a)) })
	longest = longest[:min(3, len(longest))]
	words = slices.DeleteFunc(words, func(w string) bool { return !slices.Contains(longest, w) })
	var out []template.Phrase
	for i := 0; i < 3 && len(words) > 0; i++ {
		out = append(out, template.Literal(strings.TrimSpace(words[min(i, len(words)-1)])))
	}
	return out
}

// drawPhrasings gives a person phrasings of topics of their own, beside the themes of the words.
func (l *life) drawPhrasings() {
	l.themes = l.words.themes
	if len(l.phrased) == 0 {
		return
	}
	had := map[string]bool{}
	for range phrasingsALife {
		t := template.Pick(l.r, l.phrased)
		if !had[t.name] {
			had[t.name] = true
			l.themes = append(slices.Clip(l.themes), t)
		}
	}
}

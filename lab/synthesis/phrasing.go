package synthesis

import (
	"cmp"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Phrasing is a statement as a writer typed it, with the same writer's later statements on its topic. A statement
// without a content word is never told.
type Phrasing struct {
	Told  string
	Later []Later
}

// Later is a later statement. Its evolution is expand, shift, end, again or near.
type Later struct {
	Said      string
	Evolution Evolution
}

// phrasedThemes makes a theme of each phrasing, by writer.
func phrasedThemes(people [][]Phrasing) ([][]*theme, error) {
	out := make([][]*theme, len(people))
	for i, phrasings := range people {
		for j, p := range phrasings {
			if len(keywords(p.Told)) == 0 {
				continue
			}
			t, err := p.theme(fmt.Sprintf("phrasing %d", j))
			if err != nil {
				return nil, fault.Terminal(fmt.Sprintf("phrasings[%d][%d]", i, j), "%w", err)
			}
			out[i] = append(out[i], t)
		}
	}
	return out, nil
}

func (p Phrasing) theme(name string) (*theme, error) {
	said, answer := keywords(p.Told), template.Literal(p.Told)
	t := &theme{name: name, domain: "told", kind: memory.KindFact, gist: &said[0], answer: &answer}
	t.ops = append(t.ops, phrasedOp(EvolutionNew, p.Told, said))
	for _, l := range p.Later {
		switch l.Evolution {
		case EvolutionExpand, EvolutionShift, EvolutionEnd, EvolutionAgain, EvolutionNear:
		default:
			return nil, fmt.Errorf("has a later %q, want expand, shift, end, again or near", l.Evolution)
		}
		words := keywords(l.Said)
		if len(words) == 0 {
			continue
		}
		o := phrasedOp(l.Evolution, l.Said, words)
		o.from = []string{string(EvolutionNew)} // it refers to the statement as first told
		t.ops = append(t.ops, o)
	}
	return t, nil
}

func phrasedOp(e Evolution, said string, words []template.Phrase) *op {
	literal := template.Literal(said)
	if last, _ := utf8.DecodeLastRuneInString(said); unicode.IsLetter(last) || unicode.IsDigit(last) {
		literal = template.Literal(said + ".") // small talk may follow it
	}
	return &op{
		name: string(e), evolution: e, once: true, statement: literal, keywords: words, answer: &literal,
		say: []template.Phrase{literal},
	}
}

// keywords returns the three longest content words, in the order of the text. With fewer words, the last repeats.
func keywords(said string) []template.Phrase {
	var words []string
	for _, w := range text.Words(said) {
		if !text.IsStopWord(w.Lower) && !slices.Contains(words, w.Lower) {
			words = append(words, w.Lower)
		}
	}
	longest := slices.Clone(words)
	slices.SortStableFunc(longest, func(a, b string) int {
		return cmp.Compare(utf8.RuneCountInString(b), utf8.RuneCountInString(a))
	})
	longest = longest[:min(3, len(longest))]
	words = slices.DeleteFunc(words, func(w string) bool { return !slices.Contains(longest, w) })
	var out []template.Phrase
	for i := 0; i < 3 && len(words) > 0; i++ {
		out = append(out, template.Literal(words[min(i, len(words)-1)]))
	}
	return out
}

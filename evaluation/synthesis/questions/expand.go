package questions

import (
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pick returns one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// chance is true in p of one.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// filled puts values for the references of a text: {name}, or {a:name} with an article. What value knows nothing of stays.
func filled(text string, value func(name string) (string, bool)) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		reference, rest, _ := strings.Cut(after, "}")
		name, article := strings.CutPrefix(reference, "a:")
		v, known := value(name)
		switch {
		case !known:
			b.WriteString("{" + reference + "}")
		case article:
			b.WriteString(withArticle(v))
		default:
			b.WriteString(v)
		}
		text = rest
	}
}

// chosen takes one of each "[this|that]", innermost first.
func chosen(r *rand.Rand, text string) string {
	for {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return text
		}
		start := strings.LastIndexByte(text[:end], '[')
		text = text[:start] + pick(r, strings.Split(text[start+1:end], "|")) + text[end+1:]
	}
}

// withArticle puts "a" or "an" before a noun phrase.
func withArticle(s string) string {
	first, _ := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("aeioAEIO", first) || strings.HasPrefix(s, "un") {
		return "an " + s
	}
	return "a " + s
}

// neat takes out double spaces and makes the first letter of every sentence a capital.
func neat(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, mark := range []string{".", ",", "!", "?"} {
		s = strings.ReplaceAll(s, " "+mark, mark)
	}
	out := []rune(s)
	start := true
	for i, c := range out {
		switch {
		case start && unicode.IsLetter(c):
			out[i], start = unicode.ToUpper(c), false
		case start && unicode.IsDigit(c):
			start = false
		case (c == '.' || c == '!' || c == '?') && i+1 < len(out) && out[i+1] == ' ':
			start = true
		}
	}
	return string(out)
}

package synthesis

import (
	"math/rand/v2"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// style is a speaker's way of typing. Its fields are probabilities.
type style struct {
	// lower is for a whole line in lower case, typo for a wrong letter in a word, chatty for a chat spelling.
	lower, typo, chatty float64
	// emoji and bare (no full stop at the end) are for a line.
	emoji, bare float64
	// shout is for a full stop that becomes an exclamation mark.
	shout float64
}

func drawStyle(r *rand.Rand, clean bool) style {
	if clean {
		return style{}
	}
	s := style{typo: 0.002 + 0.006*r.Float64(), chatty: 0.5 * r.Float64(), emoji: 0.1 * r.Float64(),
		shout: 0.35 * r.Float64()}
	if template.Chance(r, 0.15) {
		s.lower, s.bare = 0.8, 0.6
	}
	return s
}

// chatSpelling has the chat spelling of common words.
var chatSpelling = strings.NewReplacer(
	"going to ", "gonna ", "want to ", "wanna ", "kind of ", "kinda ", "because ", "cuz ", "probably ", "prob ",
	"have to ", "gotta ", " and ", " & ", "something ", "somethin' ", " you all ", " y'all ", "about ", "abt ",
)

// apply writes a text in the style. Words of protected phrases keep their spelling, if not their case.
func (s style) apply(r *rand.Rand, text string, protected []string) string {
	if s == (style{}) {
		return text
	}
	words := strings.Fields(text)
	for i, w := range words {
		if template.Chance(r, s.typo) && !guarded(w, protected) {
			words[i] = misspell(r, w)
		}
		if template.Chance(r, s.shout*0.4) && strings.HasSuffix(w, ".") && len(w) > 3 {
			words[i] = strings.TrimSuffix(words[i], ".") + "!"
		}
	}
	out := strings.Join(words, " ")
	if template.Chance(r, s.chatty) {
		if changed := chatSpelling.Replace(out); keeps(changed, out, protected) {
			out = changed
		}
	}
	if template.Chance(r, s.lower) {
		out = strings.ToLower(out)
	}
	if template.Chance(r, s.bare) {
		out = strings.TrimSuffix(out, ".")
	}
	if template.Chance(r, s.emoji) {
		out += " " + template.Pick(r, emojis)
	}
	return out
}

// keeps reports whether a changed text still has every protected phrase of the text before.
func keeps(changed, before string, protected []string) bool {
	for _, p := range protected {
		if strings.Contains(before, p) && !strings.Contains(changed, p) {
			return false
		}
	}
	return true
}

var emojis = []string{"😊", "😂", "🎉", "❤️", "😅", "👍", "🙌", "😢", "🤞", "✨"}

func guarded(w string, protected []string) bool {
	core := strings.ToLower(strings.TrimFunc(w, func(c rune) bool { return !unicode.IsLetter(c) }))
	for _, p := range protected {
		if strings.Contains(strings.ToLower(p), core) {
			return true
		}
	}
	return false
}

// misspell swaps, drops or doubles a letter inside a longer word of small letters.
func misspell(r *rand.Rand, w string) string {
	if len(w) < 5 {
		return w
	}
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return w
		}
	}
	i := 1 + r.IntN(len(w)-3)
	switch r.IntN(3) {
	case 0:
		return w[:i] + w[i+1:i+2] + w[i:i+1] + w[i+2:]
	case 1:
		return w[:i] + w[i+1:]
	}
	return w[:i+1] + w[i:]
}

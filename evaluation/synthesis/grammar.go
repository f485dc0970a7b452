package synthesis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// phrase is a template: literal text, references in braces, and alternatives in brackets, as in
// "[I|We] moved to {city} {past}". A reference may ask for an article: {a:role}.
type phrase struct {
	source string
	nodes  []node
}

// node is one piece of a phrase; exactly one of its fields is set.
type node struct {
	literal string
	ref     string
	choices [][]node
}

func parsePhrase(source string) (phrase, error) {
	nodes, rest, err := parseNodes(source, false)
	if err == nil && rest != "" {
		err = fmt.Errorf("has %q too much", rest)
	}
	if err != nil {
		return phrase{}, fmt.Errorf("phrase %q: %w", source, err)
	}
	return phrase{source: source, nodes: nodes}, nil
}

// parseNodes parses up to the end, or, inside brackets, up to "|" or "]", which it leaves.
func parseNodes(s string, inside bool) ([]node, string, error) {
	stops := "{["
	if inside {
		stops = "{[|]"
	}
	var out []node
	for s != "" {
		i := strings.IndexAny(s, stops)
		if i < 0 {
			return append(out, node{literal: s}), "", nil
		}
		if i > 0 {
			out = append(out, node{literal: s[:i]})
			s = s[i:]
		}
		var n node
		var err error
		switch s[0] {
		case '|', ']':
			return out, s, nil
		case '{':
			n, s, err = parseRef(s)
		default:
			n, s, err = parseChoices(s)
		}
		if err != nil {
			return nil, "", err
		}
		out = append(out, n)
	}
	return out, "", nil
}

func parseRef(s string) (node, string, error) {
	end := strings.IndexByte(s, '}')
	if end < 2 {
		return node{}, "", fmt.Errorf("has an open or empty brace at %q", s)
	}
	return node{ref: s[1:end]}, s[end+1:], nil
}

func parseChoices(s string) (node, string, error) {
	var n node
	for rest := s[1:]; ; {
		branch, after, err := parseNodes(rest, true)
		if err != nil {
			return node{}, "", err
		}
		if after == "" {
			return node{}, "", fmt.Errorf("has an open bracket at %q", s)
		}
		n.choices = append(n.choices, branch)
		if after[0] == ']' {
			return n, after[1:], nil
		}
		rest = after[1:]
	}
}

// refs calls f for every reference of the phrase, without its article.
func (p phrase) refs(f func(name string)) {
	var walk func([]node)
	walk = func(nodes []node) {
		for _, n := range nodes {
			if n.ref != "" {
				f(strings.TrimPrefix(n.ref, "a:"))
			}
			for _, c := range n.choices {
				walk(c)
			}
		}
	}
	walk(p.nodes)
}

// resolver says what a reference stands for.
type resolver interface{ resolve(name string) string }

// expand makes text of a phrase.
func (p phrase) expand(r *rand.Rand, in resolver) string {
	var b strings.Builder
	expandNodes(&b, r, in, p.nodes)
	return b.String()
}

func expandNodes(b *strings.Builder, r *rand.Rand, in resolver, nodes []node) {
	for _, n := range nodes {
		switch {
		case n.choices != nil:
			expandNodes(b, r, in, n.choices[r.IntN(len(n.choices))])
		case n.ref != "":
			name, article := strings.CutPrefix(n.ref, "a:")
			value := in.resolve(name)
			if article {
				value = withArticle(value)
			}
			b.WriteString(value)
		default:
			b.WriteString(n.literal)
		}
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

// capitalise makes the first letter of every sentence a capital.
func capitalise(s string) string {
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

// pick returns one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// chance is true in p of one.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// Package template is the small language of made-up dialogues: literal text, references in braces, and alternatives
// in brackets, as in "[I|We] moved to {city} {past}". A reference may ask for an article: {a:role}.
package template

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Phrase is a parsed template.
type Phrase struct {
	// Source is the parsed text.
	Source string
	nodes  []node
}

// node is one piece of a phrase; exactly one of its fields is set.
type node struct {
	literal string
	ref     string
	choices [][]node
}

// Literal returns a phrase of a text without references.
func Literal(s string) Phrase { return Phrase{Source: s, nodes: []node{{literal: s}}} }

// Parse reads a template. Braces and brackets must match.
func Parse(source string) (Phrase, error) {
	nodes, rest, err := parseNodes(source, false)
	if err == nil && rest != "" {
		err = fmt.Errorf("has %q too much", rest)
	}
	if err != nil {
		return Phrase{}, fmt.Errorf("phrase %q: %w", source, err)
	}
	return Phrase{Source: source, nodes: nodes}, nil
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

// Refs calls f for every reference of the phrase, without its article.
func (p Phrase) Refs(f func(name string)) {
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

// Expand makes text of a phrase from left to right. It resolves nothing in alternatives that it does not choose.
func (p Phrase) Expand(r *rand.Rand, resolve func(name string) string) string {
	var b strings.Builder
	var walk func([]node)
	walk = func(nodes []node) {
		for _, n := range nodes {
			switch {
			case n.choices != nil:
				walk(n.choices[r.IntN(len(n.choices))])
			case n.ref != "":
				b.WriteString(referred(n.ref, resolve))
			default:
				b.WriteString(n.literal)
			}
		}
	}
	walk(p.nodes)
	return b.String()
}

// referred returns the value of a reference, with its article.
func referred(ref string, resolve func(name string) string) string {
	name, article := strings.CutPrefix(ref, "a:")
	value := resolve(name)
	if article {
		return withArticle(value)
	}
	return value
}

// Fill puts values for the references of a template, in every alternative, and keeps the alternatives. A reference
// without a value stays.
func Fill(source string, value func(name string) (string, bool)) string {
	return rewrite(source, func(ref string) string {
		v := ""
		known := false
		filled := referred(ref, func(name string) string {
			v, known = value(name)
			return v
		})
		if !known {
			return "{" + ref + "}"
		}
		return filled
	}, func(branches []string) string { return "[" + strings.Join(branches, "|") + "]" })
}

// Choose takes one of each alternatives of a template, innermost first, and leaves the references.
func Choose(r *rand.Rand, source string) string {
	return rewrite(source, func(ref string) string {
		return "{" + ref + "}"
	}, func(branches []string) string { return Pick(r, branches) })
}

// rewrite makes text of a template piece by piece. A template that does not parse stays unchanged.
func rewrite(source string, ref func(string) string, choice func([]string) string) string {
	p, err := Parse(source)
	if err != nil {
		return source
	}
	var walk func([]node) string
	walk = func(nodes []node) string {
		var b strings.Builder
		for _, n := range nodes {
			switch {
			case n.choices != nil:
				branches := make([]string, len(n.choices))
				for i, c := range n.choices {
					branches[i] = walk(c)
				}
				b.WriteString(choice(branches))
			case n.ref != "":
				b.WriteString(ref(n.ref))
			default:
				b.WriteString(n.literal)
			}
		}
		return b.String()
	}
	return walk(p.nodes)
}

// withArticle puts "a" or "an" before a noun phrase.
func withArticle(s string) string {
	first, _ := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("aeioAEIO", first) || strings.HasPrefix(s, "un") {
		return "an " + s
	}
	return "a " + s
}

// Capitalise makes the first letter of every sentence a capital.
func Capitalise(s string) string {
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

// Tidy removes the spaces that empty alternatives leave.
func Tidy(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(" !", "!", " ?", "?", " .", ".", " ,", ",").Replace(s)
}

// Pick returns a random element of a list.
func Pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// Chance is true with probability p.
func Chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

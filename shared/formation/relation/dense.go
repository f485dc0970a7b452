package relation

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/memory"
)

// numberNames name the dense features.
var numberNames = []string{
	"cosine", "later alike", "stored alike", "most alike", "two most alike", "shared weight", "shared of later",
	"shared of stored", "shares nothing", "shared content", "asks", "ends asking", "by assistant", "other speaker",
	"later length", "later log length", "stored length", "shared number", "new number", "stored name told",
	"new name", "quotes", "colon", "exclaims", "commas", "sentences", "capital start", "clause cosine",
	"clause shared", "clauses",
}

// Dense is how many dense features there are.
func (l *Lexicon) Dense() int { return len(numberNames) }

// dense measures a pair; near as Pair has them.
func (l *Lexicon) dense(later, stored *Reading, nearLater, nearStored []float32) []float32 {
	sumLater, sumStored, shared, content := float32(0), float32(0), float32(0), float32(0)
	for i := range later.tokens {
		t := &later.tokens[i]
		if t.mark || !t.first {
			continue
		}
		sumLater += t.weight
		if stored.has(t) {
			shared += t.weight
			if t.content() {
				content++
			}
		}
	}
	for i := range stored.tokens {
		if t := &stored.tokens[i]; !t.mark && t.first {
			sumStored += t.weight
		}
	}
	most, two := top(later.compared, nearLater)
	length, lengthStored := float32(words(later)), float32(words(stored))
	clause, clauseShared, clauses := l.clauses(later, stored)
	out := make([]float32, 0, l.Dense())
	out = append(out, dot(later.mean, stored.mean), average(later.compared, nearLater),
		average(stored.compared, nearStored), most, two, shared/10, shared/max(1, sumLater),
		shared/max(1, sumStored), flag(shared == 0), content/3, flag(hasMark(later, "?")),
		flag(len(later.tokens) > 0 && later.tokens[len(later.tokens)-1].lower == "?"),
		flag(later.statement.Role == memory.RoleAssistant),
		flag(later.statement.Speaker != stored.statement.Speaker), length/30, float32(math.Log1p(float64(length))),
		lengthStored/30, flag(numbers(later, stored, true)),
		flag(numbers(stored, later, false) && numbers(later, stored, false)), flag(names(stored, later, true)),
		flag(names(later, stored, false)), flag(hasMark(later, "\"")), flag(hasMark(later, ":")),
		flag(hasMark(later, "!")), flag(hasMark(later, ",")), float32(sentences(later))/3,
		flag(len(later.tokens) > 0 && later.tokens[0].capital), clause, clauseShared, float32(clauses)/3)
	return out
}

func flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

func words(r *Reading) (n int) {
	for i := range r.tokens {
		if !r.tokens[i].mark {
			n++
		}
	}
	return n
}

func average(of []int, near []float32) float32 {
	if len(of) == 0 {
		return 0
	}
	var sum float32
	for _, i := range of {
		sum += near[i]
	}
	return sum / float32(len(of))
}

// top is the highest, and the mean of the two highest.
func top(of []int, near []float32) (first, two float32) {
	var second float32
	for _, i := range of {
		switch s := near[i]; {
		case s > first:
			first, second = s, first
		case s > second:
			second = s
		}
	}
	return first, (first + second) / 2
}

func hasMark(r *Reading, mark string) bool {
	return slices.ContainsFunc(r.tokens, func(t token) bool { return t.mark && t.lower == mark })
}

// numbers is whether a has a number that b has, or has not.
func numbers(a, b *Reading, had bool) bool {
	return slices.ContainsFunc(a.tokens, func(t token) bool { return t.number && hasWord(b, t.key) == had })
}

// names reports whether a capitalised word of a, not at its beginning, occurs in b (had true) or is missing there (had
// false).
func names(a, b *Reading, had bool) bool {
	return slices.ContainsFunc(a.tokens, func(t token) bool { return t.name && t.content() && hasWord(b, t.key) == had })
}

func hasWord(r *Reading, key uint32) bool {
	return slices.ContainsFunc(r.tokens, func(t token) bool { return !t.mark && t.key == key })
}

// sentences counts the ends of sentences within a statement.
func sentences(r *Reading) (n int) {
	for i, t := range r.tokens {
		if t.mark && (t.lower == "." || t.lower == "!" || t.lower == "?") && i+1 < len(r.tokens) && !r.tokens[i+1].mark {
			n++
		}
	}
	return n
}

// clauses compares the parts of the stored statement between marks, "and" or "but". A statement often has two facts,
// and the later statement changes one of them. It returns the highest cosine of a part, and the highest share of a
// part's weight that the later statement has.
func (l *Lexicon) clauses(later, stored *Reading) (cosine, share float32, n int) {
	sum := make([]float32, l.table.Dimension())
	var weight, shared float32
	end := func() {
		if weight == 0 {
			return
		}
		normalise(sum)
		c := dot(sum, later.mean)
		if n == 0 || c > cosine {
			cosine = c
		}
		share = max(share, shared/weight)
		clear(sum)
		weight, shared = 0, 0
		n++
	}
	for i := range stored.tokens {
		t := &stored.tokens[i]
		if t.mark || t.key == keyAnd || t.key == keyBut {
			end()
			continue
		}
		weight += t.weight
		if later.has(t) {
			shared += t.weight
		}
		if t.row >= 0 {
			l.table.Add(sum, t.row, t.weight)
		}
	}
	end()
	return cosine, share, n
}

var keyAnd, keyBut = hash("and"), hash("but")

// attribute matches the beginning of a statement about an attribute with one value at a time: a home, a job, an age, or
// a number or favourite with a name. Statements with an equal beginning are about the same attribute. The last group is
// the value.
var attribute = regexp.MustCompile(`(?i)(?:^|[.!?,;] ?|\band )(i (?:now |currently )?live in|i (?:now |currently )?work (?:as|at|for)|` +
	`i(?:'m| am)(?: now)?|(?:my|our|the) (?:[\pL'-]+ ){1,3}is)(?: now)? (\S+)`)

var (
	// quantity is a value that is a number.
	quantity = regexp.MustCompile(`(?i)^(?:[£$€]?\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)`)
	// now is a word of time within the beginning.
	now = strings.NewReplacer(" now", "", " currently", "", "i am", "i'm")
)

// attributesOf returns the beginnings of a text's statements about such attributes.
func attributesOf(said string) map[string]bool {
	out := map[string]bool{}
	for _, m := range attribute.FindAllStringSubmatch(straight.Replace(said), -1) {
		lead, value := now.Replace(strings.ToLower(m[1])), m[2]
		first, _ := utf8.DecodeRuneInString(value)
		switch {
		case strings.HasSuffix(lead, "live in"), strings.HasSuffix(lead, "work at"), strings.HasSuffix(lead, "work for"):
			if unicode.IsUpper(first) { // not "in a small flat"
				out[lead] = true
			}
		case strings.HasSuffix(lead, "work as"), strings.Contains(lead, "favo"), quantity.MatchString(value):
			out[lead] = true
		}
	}
	return out
}

// SameAttribute reports whether two statements give values to the same attribute of the speaker, of which there is one
// at a time: "I live in Turin", "I live in Trieste".
func SameAttribute(a, b string) bool {
	have := attributesOf(a)
	for lead := range attributesOf(b) {
		if have[lead] {
			return true
		}
	}
	return false
}

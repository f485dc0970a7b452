package embedded

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// entry is an entry of a list.
type entry struct {
	// mark is its number or its capital letter, or "" where it has a bullet.
	mark, text string
}

// listed matches a line that is an entry of a list. The line begins with a number, a letter or a bullet, and may be in
// bold type.
var listed = regexp.MustCompile(`(?m)^([ \t]*)(?:[-*•][ \t]+)?(?:\*\*)?` +
	`(?:(?:\p{L}+ )?(\d{1,2}|[A-H])[.):](?:\*\*)?[ \t]+|[-*•][ \t]+)(\S.*)$`)

// joined is what entries say, as far as a quotation shows it.
func joined(entries []entry) string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = shortened(e.text)
	}
	return strings.Join(texts, "; ")
}

// entriesOf returns the entries of the lists in a message, in order. It takes entries with a number or letter first,
// else the least indented ones. It returns nil for fewer than two entries.
func entriesOf(message string) []entry {
	var found [][]string
	for _, b := range text.Blocks(message) {
		if b.Kind == text.Prose {
			found = append(found, listed.FindAllStringSubmatch(b.Text, -1)...)
		}
	}
	numbered := slices.ContainsFunc(found, func(m []string) bool { return m[2] != "" })
	out, least := make([]entry, 0, len(found)), ""
	if len(found) > 0 {
		least = slices.MinFunc(found, func(a, b []string) int { return cmp.Compare(len(a[1]), len(b[1])) })[1]
	}
	for _, m := range found {
		if numbered && m[2] != "" || !numbered && len(m[1]) == len(least) {
			out = append(out, entry{mark: m[2], text: strings.ReplaceAll(m[3], "**", "")})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// list is an assistant's list, with its turn.
type list struct {
	before
	entries []entry
}

// listsBefore returns for each turn the assistant's latest earlier list, from which a user may pick; nil without a
// list.
func listsBefore(in formation.Session) []*list {
	context := slices.SortedStableFunc(slices.Values(in.Context), memory.Turn.Compare)
	var latest *list
	read := func(t memory.Turn, formed bool) {
		if t.Role != memory.RoleAssistant {
			return
		}
		if entries := entriesOf(text.Printable(t.Text)); entries != nil {
			latest = &list{before{Turn: t, formed: formed}, entries}
		}
	}
	out := make([]*list, len(in.Turns))
	for i, t := range in.Turns {
		for len(context) > 0 && context[0].Compare(t) <= 0 {
			read(context[0], false)
			context = context[1:]
		}
		out[i] = latest
		read(t, true)
	}
	return out
}

// ordinals are the words that pick an entry of a list.
var ordinals = map[string]int{
	"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5,
	"sixth": 6, "6th": 6,
	"seventh": 7, "7th": 7, "eighth": 8, "8th": 8, "ninth": 9, "9th": 9, "tenth": 10, "10th": 10,
}

var (
	// pointing words stand before an ordinal that picks an entry. A word of choice or the list's subject follows the
	// ordinal.
	pointing = text.WordSet("the that your this")
	choice   = text.WordSet("one option idea suggestion choice")
	// numbering words stand before a number or letter that picks.
	numbering = text.WordSet("number no nr option idea suggestion choice")
	// naming words say that a list of before is meant.
	naming = text.WordSet("list options ideas suggestions you your")
	// and joins the marks of entries, and settling words follow the last mark. A number before any other word is a
	// count.
	and      = text.WordSet("and & plus und et y e en og i и")
	settling = text.WordSet("please then is for sounds it and thanks plz pls definitely")
	// ownList is a list in an answer: its numbers are not the assistant's.
	ownList = regexp.MustCompile(`(?s)(?:^|\s)\d{1,2}[.)]\s.*\s\d{1,2}[.)]\s`)
)

// takenUp returns the entries of a list that a user takes up, by their place ("the third one"). Right after the list,
// a number or letter alone is enough ("2 and 5", "B."). An answer that is too short alone may also use a word of one
// entry only ("the oak one then").
func (l *list) takenUp(said string, near bool) []entry {
	switch {
	case l == nil || ownList.MatchString(said):
		return nil
	case !near && !slices.ContainsFunc(text.Words(said), func(w text.Word) bool { return naming[w.Lower] }):
		return nil
	}
	out := l.placed(said)
	if near && len(out) == 0 {
		out = l.marked(said)
	}
	if near && len(out) == 0 && !isQuestion(said) && !alone(said) {
		out = l.named(said)
	}
	return out
}

// placed returns the entries that are picked by their place in the list.
func (l *list) placed(said string) []entry {
	words, known := text.Words(said), text.StemSet(text.Printable(l.Text))
	word := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i].Lower
	}
	var out []entry
	for i, w := range words {
		place, behind := ordinals[w.Lower], word(i+1)
		points := pointing[word(i-1)] || i == 0 && choice[behind]
		counts := behind == "of" || subjects[behind] && strings.TrimSpace(said[w.End:words[i+1].Start]) == ""
		of := behind == "" || text.IsFiller(said, words, i+1) || choice[behind] || known[text.Stem(behind)]
		switch {
		case place > 0 && points && !counts && of: // not "I came second", "the first time", "the second I saw it"
			if l.entries[0].mark == "" {
				if place <= len(l.entries) {
					out = append(out, l.entries[place-1])
				}
			} else if at := l.indexOf(strconv.Itoa(place)); at >= 0 {
				out = append(out, l.entries[at])
			}
		case numbering[word(i-1)] && (behind == "" || settling[behind] ||
			strings.ContainsAny(said[w.End:words[i+1].Start], ".,;:!?")):
			if at := l.indexOf(strings.ToUpper(w.Lower)); at >= 0 {
				out = append(out, l.entries[at])
			}
		}
	}
	return out
}

// leading matches the numbers or letters at the beginning of an answer. A word with a comma may come first. After them
// comes the end, a mark, or a word that settles the choice.
var leading = regexp.MustCompile(`^(?:\p{L}+[,.!] *)?((?:\d{1,2}|[A-Ha-h])(?:(?: *[,+&] *| +\p{L}{1,4} +)(?:\d{1,2}|[A-H]))*)` +
	`(?: *$|[.,;:!] | +(\p{L}+)|[!.]+$)`)

// marked returns the entries whose numbers or letters an answer begins with. A number before a word that it may count
// ("2 children") marks no entry.
func (l *list) marked(said string) []entry {
	found := leading.FindStringSubmatch(strings.TrimSpace(said))
	if found == nil || found[2] != "" && !settling[strings.ToLower(found[2])] && len(found[1]) < 3 {
		return nil
	}
	var out []entry
	for _, m := range strings.FieldsFunc(found[1], func(r rune) bool {
		return r == ' ' || r == ',' || r == '+' || r == '&'
	}) {
		if at := l.indexOf(strings.ToUpper(m)); at >= 0 {
			out = append(out, l.entries[at])
		} else if !and[strings.ToLower(m)] {
			return nil
		}
	}
	return out
}

// indexOf returns the index of the one entry that a number or letter marks, or -1.
func (l *list) indexOf(mark string) int {
	found := -1
	for i, e := range l.entries {
		if e.mark == mark && mark != "" {
			if found >= 0 {
				return -1 // of two lists
			}
			found = i
		}
	}
	return found
}

// named returns the entries that share a word with the answer which no other entry has. The answer must be too short
// alone, and the choice must be clear.
func (l *list) named(said string) []entry {
	language := text.Detect(text.Printable(l.Text), text.English)
	terms := language.SearchTerms(said)
	if len(terms) > fewStems {
		return nil
	}
	having := map[string][]int{}
	for i, e := range l.entries {
		for _, term := range language.SearchTerms(e.text) {
			if at := having[term]; len(at) == 0 || at[len(at)-1] != i {
				having[term] = append(at, i)
			}
		}
	}
	named := map[int]bool{}
	for _, term := range terms {
		if at := having[term]; len(at) == 1 {
			named[at[0]] = true
		}
	}
	if len(named) > mostNamed {
		return nil
	}
	var out []entry
	for _, i := range slices.Sorted(maps.Keys(named)) {
		out = append(out, l.entries[i])
	}
	return out
}

// mostNamed is how many entries few words can pick by name.
const mostNamed = 2

package embedded

import (
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

// listed is a line that is an entry of a list: it has a number, a letter or a bullet in front, and may be in bold type.
var listed = regexp.MustCompile(`(?m)^[ \t]*(?:[-*•][ \t]+)?(?:\*\*)?` +
	`(?:(?:\p{L}+ )?(\d{1,2}|[A-H])[.):](?:\*\*)?[ \t]+|[-*•][ \t]+)(\S.*)$`)

// joined is what entries say, as far as a quotation shows it.
func joined(entries []entry) string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = shortened(e.text)
	}
	return strings.Join(texts, "; ")
}

// entriesOf returns the entries of the lists in a text, in order; none where there are not two.
func entriesOf(s string) []entry {
	found := listed.FindAllStringSubmatch(s, -1)
	if len(found) < 2 {
		return nil
	}
	out := make([]entry, len(found))
	for i, m := range found {
		out[i] = entry{mark: m[1], text: strings.ReplaceAll(m[2], "**", "")}
	}
	return out
}

// list is what an assistant listed, and where.
type list struct {
	before
	entries []entry
	// near is whether nobody said anything since.
	near bool
}

// listBefore returns the assistant's latest list before turn i, the one that somebody may pick from; nil where there is none.
func listBefore(in formation.Session, i int) *list {
	var out *list
	take := func(t memory.Turn, formed bool) {
		if t.Role != memory.RoleAssistant || out != nil && t.Time.Before(out.Time) {
			return
		}
		if entries := entriesOf(clean(t.Text)); entries != nil {
			out = &list{before: before{Turn: t, formed: formed}, entries: entries}
		}
	}
	for _, t := range in.Turns[:i] {
		take(t, true)
	}
	for _, t := range in.Context {
		if !t.Time.After(in.Turns[i].Time) {
			take(t, false)
		}
	}
	if out != nil {
		out.near = preceding(in, i).ID == out.ID
	}
	return out
}

// ordinals are the words that pick an entry of a list.
var ordinals = map[string]int{
	"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5, "sixth": 6, "6th": 6,
	"seventh": 7, "7th": 7, "eighth": 8, "8th": 8, "ninth": 9, "9th": 9, "tenth": 10, "10th": 10,
}

// pointing words stand before an ordinal that picks; behind it stands one of choice, or what the list is of.
var (
	pointing = text.WordSet("the that your this")
	choice   = text.WordSet("one option idea suggestion choice")
)

// takenUp returns the entries of a list that somebody takes up: by their place ("the third one"), and right behind the list by number or
// letter alone ("2 and 5", "B.") or, in few words, by what only that entry says ("the oak one then").
func (l *list) takenUp(said string) []entry {
	if l == nil {
		return nil
	}
	out := l.placed(said)
	if l.near && len(out) == 0 {
		if out = l.marked(said); len(out) == 0 && !isQuestion(said) {
			out = l.named(said)
		}
	}
	return out
}

// placed returns the entry that is picked by its place in the list.
func (l *list) placed(said string) []entry {
	words, known := text.Words(said), text.StemSet(clean(l.Text))
	for i, w := range words {
		before, behind := "", ""
		if i > 0 {
			before = words[i-1].Lower
		}
		if i+1 < len(words) && !text.IsFiller(said, words, i+1) {
			behind = words[i+1].Lower
		}
		place, mark := ordinals[w.Lower], ""
		switch {
		case before == "number" || choice[before]:
			mark = strings.ToUpper(w.Lower)
		case place == 0, !pointing[before] && (i > 0 || len(words) == 1 || !choice[words[1].Lower]),
			behind != "" && !choice[behind] && !known[text.Stem(behind)]:
			continue // "I came second", "the first time"
		default:
			mark = strconv.Itoa(place)
		}
		for at, e := range l.entries {
			if e.mark == mark || e.mark == "" && at+1 == place {
				return []entry{e}
			}
		}
	}
	return nil
}

// marked returns the entries whose numbers or letters an answer begins with, behind one other word at most. One number before a word that
// it may count ("2 children") is none of the list.
func (l *list) marked(said string) []entry {
	var out []entry
	counts := false
	words := text.Words(said)
	for i, w := range words {
		behind := ""
		if i+1 < len(words) {
			behind = said[w.End:words[i+1].Start]
		}
		if at := l.at(said[w.Start:w.End]); at >= 0 && !strings.Contains(behind, "/") {
			out = append(out, l.entries[at])
			counts = i+1 < len(words) && !text.IsFiller(said, words, i+1) && strings.TrimSpace(behind) == ""
		} else if len(out) > 0 && !joining[w.Lower] || len(out) == 0 && i > 0 {
			break
		}
		if strings.ContainsAny(behind, ".;!?\n") {
			break
		}
	}
	if counts && len(out) == 1 {
		return nil
	}
	return out
}

// at returns the index of the entry that a number or letter marks, or -1.
func (l *list) at(mark string) int {
	for i, e := range l.entries {
		if e.mark == mark {
			return i
		}
	}
	return -1
}

// named returns the entries that an answer has a word of which no other entry has, if it says too little alone and it is clear which they
// are.
func (l *list) named(said string) []entry {
	language := text.Detect(clean(l.Text), text.English)
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

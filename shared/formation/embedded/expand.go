package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of an entry that further statements are added to: without them one entry would in time take in all that shares a word with it.
const (
	maxExpandedWords   = 140
	maxExpandedSources = 8
)

// adds reports whether a statement that changes an entry leaves all of it true: it then goes on beside what the entry says, because an
// update keeps every claim that still holds.
func (d *decider) adds(p proposal) bool {
	return !p.Negates && !p.denies && !(p.cues | d.answerCues(p)).has(cueEnd|cueReplace|cueLimit)
}

func fits(p proposal, m memory.Memory) bool {
	return len(m.Sources) < maxExpandedSources && len(text.Words(m.Content))+len(text.Words(p.Content)) <= maxExpandedWords
}

// remaining is what an entry says in sentences that share nothing with a statement that takes its place, and that were said at
// another time than the rest: an update ends what it is about, and nothing else.
func (f *Former) remaining(p proposal, m memory.Memory, self string) string {
	if len(m.Sources) < 2 {
		return ""
	}
	var kept []string
	for _, sentence := range f.splitter.Split(m.Content) {
		if !shares(p.anchors, anchorsOf(mark(sentence, self))) {
			kept = append(kept, sentence)
		}
	}
	return strings.Join(kept, " ")
}

func shares(a, b map[string]bool) bool {
	for s := range a {
		if b[s] && !weekdayStem(s) {
			return true
		}
	}
	return false
}

// weekdayStem reports whether a stem is that of a weekday, which very different matters share.
func weekdayStem(s string) bool { return weekdayStems[s] }

var weekdayStems = func() map[string]bool {
	out := map[string]bool{}
	for name := range weekdaysByName {
		out[text.Stem(name)] = true
	}
	return out
}()

// expanded is a candidate with what the entry says before it.
func (d *decider) expanded(p proposal, m memory.Memory, before string) proposal {
	p.Content = strings.TrimSpace(before) + " " + p.Content
	p.Sources = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.Sources, m.Sources))))
	if p.Slot == "" {
		p.Slot = m.Slot
	}
	if p.EventTime.Time.IsZero() {
		p.EventTime = m.EventTime
	}
	for _, k := range m.Keywords {
		if len(p.Keywords) < maxKeywords && !slices.Contains(p.Keywords, k) {
			p.Keywords = append(slices.Clone(p.Keywords), k)
		}
	}
	p.Kind, p.Topic, p.Vector = m.Kind, m.Topic, nil
	return p
}

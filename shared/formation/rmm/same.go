package rmm

import (
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// When a topic is the same as an entry's. Both must hold: words alone match by accident, and so do vectors.
const (
	// leastSimilarity is the cosine of the summaries' vectors.
	leastSimilarity = 0.55
	// leastOverlap is the share of the smaller summary's stems that both have, and leastShared how many these are at
	// least.
	leastOverlap = 0.4
	leastShared  = 2
)

// same finds the entry that a topic continues, and the summary of both. It is the most similar entry of the same
// speaker with shared words and no other event. It must have room for the summary and the dialogue of both, which are
// kept whole.
func (m *merger) same(r formation.Related) (best memory.Memory, content string, ok bool) {
	c := r.Candidate
	entries, similarity := m.known(r)
	most, owner := leastSimilarity, text.StemSet(ownerOfCandidate(c))
	for i, e := range entries {
		if c.Tier != e.Tier || !compatible(c.EventTime, e.EventTime) || similarity[i] < most || ok && similarity[i] == most ||
			!overlaps(c.Content, e.Content, owner) || !whole(m.in.Session.Turns, c.Sources, dialogueOf(e)) {
			continue
		}
		if joined := m.former.join(m.candidate(c), m.former.sentencesOf(e)); text.CountWords(joined) <= maxSummaryWords {
			best, content, most, ok = e, joined, similarity[i], true
		}
	}
	return best, content, ok
}

// overlaps reports whether two summaries share enough words.
func overlaps(a, b string, owner map[string]bool) bool {
	x, y := topicStems(a, owner), topicStems(b, owner)
	shared := 0
	for stem := range x {
		if y[stem] {
			shared++
		}
	}
	return shared >= leastShared && float64(shared) >= leastOverlap*float64(min(len(x), len(y)))
}

// reporting stems describe the act of speech, not its content.
var reporting = map[string]bool{"said": true, "ask": true, "share": true, "photo": true, "assist": true, "user": true}

// topicStems returns the stems of a summary's subject. It leaves out the speaker's name, words of reporting, numbers
// and times: events of one day are not one topic.
func topicStems(content string, owner map[string]bool) map[string]bool {
	out := map[string]bool{}
	dates := text.Dates(content, time.Time{})
	for _, w := range text.Words(content) {
		dated := slices.ContainsFunc(dates, func(d text.DateMention) bool { return w.Start >= d.Start && w.End <= d.End })
		if stem := text.Stem(w.Lower); !dated && !w.Number && !text.IsStopWord(w.Lower) && !owner[stem] && !reporting[stem] {
			out[stem] = true
		}
	}
	return out
}

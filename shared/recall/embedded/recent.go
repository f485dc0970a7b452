package embedded

import (
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of the lines from working memory.
const (
	maxRecentLines = 5
	maxRecentWords = 40
	veryRecent     = time.Hour
	coveredShare   = 0.8
	// recentShare is the share of the budget for recent turns, before the memories: one in this many words.
	recentShare = 5
)

// emergence is why a turn of the window is shown.
type emergence int

const (
	// justSaid turns are so new that no memory may have been made of them yet.
	justSaid emergence = iota
	// helpful ones have words that the question asks for.
	helpful
)

// addRecent adds turns of the window that no memory covers, the newest first, as long as there is room.
func (w *writer) addRecent(why emergence) {
	room := w.left
	if why == justSaid {
		room /= recentShare
	}
	for i, t := range slices.Backward(w.evidence.Window) {
		if len(w.recent) == maxRecentLines {
			return
		}
		text, ok := w.turn(t, why)
		if !ok || countWords(text) > room || slices.Contains(w.recent, i) {
			continue
		}
		room -= countWords(text)
		w.left -= countWords(text)
		w.recent = append(w.recent, i)
		w.lines = append(w.lines, &line{section: SectionRecent, text: text, rank: i})
	}
}

// turn returns a turn as a line, and whether it should be shown. A question of the assistant is no line: its
// guesses about the user are no knowledge.
func (w *writer) turn(t memory.Turn, why emergence) (string, bool) {
	said := recall.Plain(t.Text)
	if t.Role == memory.RoleAssistant {
		said = statements(w.split, said)
	}
	if caption := recall.Plain(t.Caption); caption != "" {
		said = strings.TrimSpace(said + " (photo: " + caption + ")")
	}
	stems := text.StemSet(said)
	if len(stems) == 0 {
		return "", false
	}
	age := w.evidence.Query.Now.Sub(t.Time)
	shown := age >= 0 && age <= veryRecent
	if why == helpful {
		shown = w.question.weight(stems, one) >= 1
	}
	if !shown || w.covered(t, stems) {
		return "", false
	}
	return t.Time.UTC().Format(time.DateOnly) + ": " + recall.Name(t.Speaker) + ": " + recall.Raw(w.shorten(said)), true
}

// covered reports whether a memory at hand says the same already.
func (w *writer) covered(t memory.Turn, stems map[string]bool) bool {
	if slices.ContainsFunc(w.evidence.Memories, func(m memory.Memory) bool { return slices.Contains(m.Sources, t.ID) }) {
		return true
	}
	if w.indexes == nil {
		for _, m := range w.evidence.Memories {
			w.indexes = append(w.indexes, index(m))
		}
	}
	for _, have := range w.indexes {
		shared := 0
		for s := range stems {
			if have[s] {
				shared++
			}
		}
		if float64(shared) >= coveredShare*float64(len(stems)) {
			return true
		}
	}
	return false
}

// shorten takes the words around the first that the query asks for out of a long turn.
func (w *writer) shorten(said string) string {
	words := text.Pieces(said)
	if len(words) <= maxRecentWords {
		return said
	}
	at := slices.IndexFunc(words, func(word string) bool { return w.question.weight(text.StemSet(word), one) >= 1 })
	start := max(0, min(at-maxRecentWords/2, len(words)-maxRecentWords))
	shown := strings.TrimSpace(strings.Join(words[start:start+maxRecentWords], ""))
	if start > 0 {
		shown = "…" + shown
	}
	if start+maxRecentWords < len(words) {
		shown += "…"
	}
	return shown
}

package embedded

import (
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/language"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Bounds of what is shown from working memory.
const (
	maxRecentLines = 5
	maxRecentWords = 40
	veryRecent     = time.Hour
	coveredShare   = 0.8
)

// addRecent adds turns of the window that help the query or were said just now, the newest
// first as long as there is room, shown in the order they were said.
func (w *writer) addRecent() {
	var texts []string
	for _, t := range slices.Backward(w.evidence.Window) {
		if len(texts) == maxRecentLines {
			break
		}
		text, ok := w.recent(t)
		if !ok || countWords(text) > w.left {
			continue
		}
		w.left -= countWords(text)
		texts = append(texts, text)
	}
	slices.Reverse(texts)
	for _, text := range texts {
		w.lines[SectionRecent] = append(w.lines[SectionRecent], line{text: text})
	}
}

// recent returns a turn as a line, and whether it should be shown.
func (w *writer) recent(t memory.Turn) (string, bool) {
	said := strings.Join(strings.Fields(t.Text), " ")
	if caption := strings.Join(strings.Fields(t.Caption), " "); caption != "" {
		said = strings.TrimSpace(said + " (photo: " + caption + ")")
	}
	stems := language.StemSet(said)
	age := w.evidence.Now.Sub(t.Time)
	helps := w.question.weight(stems, func(string) float64 { return 1 }) >= 1
	if len(stems) == 0 || !helps && (age < 0 || age > veryRecent) || w.covered(t, stems) {
		return "", false
	}
	return t.Time.UTC().Format(time.DateOnly) + ": " + strings.TrimSpace(t.Speaker) + ": “" + w.shorten(said) + "”", true
}

// covered reports whether a memory that is shown says the same already.
func (w *writer) covered(t memory.Turn, stems map[string]bool) bool {
	for _, m := range w.cited {
		if slices.Contains(m.Sources, t.ID) {
			return true
		}
		have, shared := index(m), 0
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
	words := strings.Fields(said)
	if len(words) <= maxRecentWords {
		return said
	}
	at := slices.IndexFunc(words, func(word string) bool {
		return w.question.weight(language.StemSet(word), func(string) float64 { return 1 }) >= 1
	})
	start := max(0, min(at-maxRecentWords/2, len(words)-maxRecentWords))
	text := strings.Join(words[start:start+maxRecentWords], " ")
	if start > 0 {
		text = "…" + text
	}
	if start+maxRecentWords < len(words) {
		text += "…"
	}
	return text
}

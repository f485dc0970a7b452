package embedded

import (
	"regexp"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// How much of what is denied an entry must say to be what is meant.
const (
	deniedShare = 0.75
	deniedExtra = 3
)

// deny decides on a candidate that takes something back. ok is false when nothing known is meant.
func (d *decider) deny(p proposal, known []memory.Memory, sets bool) (kind memory.OpKind, targets []string, reason string, ok bool) {
	meant := d.meant(p, known)
	if len(meant) == 0 {
		return "", nil, "", false
	}
	extra := d.extra(p, meant)
	for _, m := range meant {
		if p.at.Before(m.ValidFrom) {
			return memory.OpNone, []string{m.ID}, reasonOlder, true
		}
		targets = append(targets, m.ID)
	}
	if sets || extra >= deniedExtra || extra > 0 && (p.cues.has(cueLimit) || goesOn.MatchString(p.marked)) {
		return update(targets), targets, reasonReplaced, true
	}
	return memory.OpDelete, targets, reasonDenied, true
}

// goesOn is a second clause about the same speaker: what holds instead.
var goesOn = regexp.MustCompile(`[,;] (?:(?:and|but|so) )?` + selfMark + `[ ']`)

// meant returns the entries that a denial is about: those whose slot holds the denied value,
// else the one that says what is denied.
func (d *decider) meant(p proposal, known []memory.Memory) []memory.Memory {
	var holders []memory.Memory
	key, denied := findSlot(affirm(p.marked))
	key = slotOf(key, p.self)
	for _, m := range known {
		if p.Slot == "" || m.Slot != p.Slot {
			continue
		}
		old := d.reading(m, p.self).slots[p.Slot].value
		if key != p.Slot || sameValue(denied.value, old) || p.sets(p.Slot) {
			holders = append(holders, m)
		}
	}
	if len(holders) > 0 || p.Slot != "" && hasSlot(known, p.Slot) {
		return holders
	}
	matter := deniedMatter(p)
	for _, m := range known {
		if d.says(m, p, matter) {
			return []memory.Memory{m}
		}
	}
	return nil
}

func hasSlot(known []memory.Memory, slot string) bool {
	for _, m := range known {
		if m.Slot == slot {
			return true
		}
	}
	return false
}

// sameValue reports whether one value is the other, or part of it.
func sameValue(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	return a == b || strings.Contains(" "+b+" ", " "+a+" ") || strings.Contains(" "+a+" ", " "+b+" ")
}

// deniedMatter returns the stems of what is denied, without the words of denying and of time.
func deniedMatter(p proposal) map[string]bool {
	matter := map[string]bool{}
	for _, w := range text.Words(p.marked) {
		if w.Number || text.IsStopWord(w.Lower) || denyingWords[w.Lower] || timeWords[w.Lower] || smallTalk[w.Lower] {
			continue
		}
		matter[text.Stem(w.Lower)] = true
	}
	return matter
}

// says reports whether an entry says what is denied: about the same one, not a denial itself,
// and no finished event, which no later change undoes.
func (d *decider) says(m memory.Memory, p proposal, matter map[string]bool) bool {
	old := d.reading(m, p.self)
	if old.subject == "" || old.subject != p.subject || old.denies || len(matter) == 0 {
		return false
	}
	if m.Kind == memory.KindEpisodic && !m.EventTime.Time.After(p.at) && !isPlan(old.marked) {
		return false
	}
	shared := 0
	for s := range matter {
		if old.stems[s] {
			shared++
		}
	}
	if len(matter) == 1 {
		return shared == 1 && len(old.stems) <= 2
	}
	return shared >= 2 && float64(shared) >= deniedShare*float64(len(matter))
}

// extra counts the stems of a denial that none of its targets says: what it tells beyond denying.
func (d *decider) extra(p proposal, meant []memory.Memory) int {
	extra := 0
	for s := range deniedMatter(p) {
		told := false
		for _, m := range meant {
			told = told || d.reading(m, p.self).stems[s]
		}
		if !told {
			extra++
		}
	}
	return extra
}

func isPlan(marked string) bool {
	for _, w := range text.Words(marked) {
		if planWords[w.Lower] {
			return true
		}
	}
	return false
}

var planWords = text.WordSet("plan plans planning planned will going booked scheduled hopes wants intends upcoming")

// denyingWords are how something is taken back, not what.
var denyingWords = text.WordSet(`longer anymore stopped quit quitting gave given giving cancelled canceled called forget nevermind mind never
wrong true right correct incorrect actually plan plans planned planning joke joked joking kidding`)

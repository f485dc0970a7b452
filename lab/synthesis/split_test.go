package synthesis

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// TestSplitsShareNothing reads the word lists of both splits, since generated text shows only samples of them.
func TestSplitsShareNothing(t *testing.T) {
	train, heldout := mustLoad(t, SplitTrain), mustLoad(t, SplitHeldout)
	mine, theirs := values(train, heldout), values(heldout, train)
	for v := range theirs {
		if mine[v] {
			t.Errorf("value %q is in both splits", v)
		}
	}
	said, heard := phrasings(train), phrasings(heldout)
	for p := range heard {
		if said[p] {
			t.Errorf("phrasing %q is in both splits", p)
		}
	}
	if len(theirs) < 350 || len(mine) < 700 || len(heard) < 350 || len(said) < 700 {
		t.Errorf("%d and %d values, %d and %d phrasings: want variety", len(mine), len(theirs), len(said), len(heard))
	}
}

func mustLoad(t *testing.T, split Split) *library {
	t.Helper()
	l, err := loadLibrary(split)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// drawnLists are the lists for values of themes, and the lists for the parts of these.
func drawnLists(l *library) map[string]bool {
	out := map[string]bool{"person": true}
	for _, th := range l.themes {
		for _, o := range th.ops {
			for _, d := range o.draws {
				out[d.list] = true
			}
		}
	}
	for range 3 { // lists of lists have at most this depth
		for name := range maps.Clone(out) {
			for _, p := range l.lists[name] {
				p.Refs(func(ref string) { out[ref] = true })
			}
		}
	}
	return out
}

// values returns the literal entries of lists that differ between the splits. Shared lists are equal in both.
func values(l, other *library) map[string]bool {
	out := map[string]bool{}
	for name := range drawnLists(l) {
		if slices.EqualFunc(l.lists[name], other.lists[name], func(a, b template.Phrase) bool {
			return a.Source == b.Source
		}) {
			continue
		}
		for _, p := range l.lists[name] {
			if !strings.Contains(p.Source, "{") {
				out[strings.ToLower(p.Source)] = true
			}
		}
	}
	return out
}

// phrasings returns the texts that speakers say and ask. Statements are ground truth and the same in both splits.
func phrasings(l *library) map[string]bool {
	out := map[string]bool{}
	add := func(list []template.Phrase) {
		for _, p := range list {
			out[p.Source] = true
		}
	}
	for _, th := range l.themes {
		add(slices.Concat(th.now, th.past, th.when))
		for _, o := range th.ops {
			add(slices.Concat(o.say, o.captions, o.details))
			for _, e := range slices.Concat(o.asks, o.follows) {
				add([]template.Phrase{e.question, e.answer})
			}
		}
	}
	for _, kind := range chatKinds() {
		add(l.lists[string(kind)])
		add(l.lists["assistant-"+string(kind)])
	}
	add(l.lists["elaborate"])
	return out
}

func TestEveryKindOfSmallTalkHasPhrases(t *testing.T) {
	for _, split := range []Split{SplitTrain, SplitHeldout} {
		l := mustLoad(t, split)
		for _, kind := range chatKinds() {
			if len(l.lists[string(kind)]) == 0 {
				t.Errorf("%s: no phrases of %s", split, kind)
			}
		}
	}
}

func TestBrokenWordFilesAreRefused(t *testing.T) {
	head := "== x | home | fact\ng a\na a\n"
	op := head + "-- new v=list\n= {v} b c | {v} | b | c\n"
	for name, text := range map[string]string{
		"a line before a theme":     "g a",
		"a header without kind":     "== x | home",
		"an op of no theme":         "-- new",
		"an op of no evolution":     head + "-- maybe",
		"a draw without list":       head + "-- new v",
		"an unknown mark":           head + "z a",
		"an unknown mark of an op":  op + "z a",
		"an open brace":             head + "q {v",
		"an open bracket":           head + "q [a|b",
		"too few keywords":          head + "-- new v=list\n= {v} b | {v}",
		"a question without answer": op + "? why",
		"an op that says nothing":   op,
		"too few phrasings":         op + "+ a\n+ b",
	} {
		if _, err := parseThemes(text, SplitTrain); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	l := &library{lists: map[string][]template.Phrase{}}
	for name, text := range map[string]string{
		"a short list":     "[a]\nb\nc",
		"a list twice":     "[a]\nb\nc\nd\n[a]\nb\nc\nd",
		"a broken phrase":  "[z]\n{\n{\n{",
		"a stray bracket":  "[y]\nb]\nc[\nd[",
		"a reference open": "[w] words\n{b, {c, {d",
	} {
		if err := l.parseLists(text, SplitTrain); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReferencesToNothingAreFound(t *testing.T) {
	l := &library{lists: map[string][]template.Phrase{}}
	if err := l.parseLists("[a]\n{nowhere}\nb\nc", SplitTrain); err != nil {
		t.Fatal(err)
	}
	if err := l.check(); !errors.Is(err, errWords) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v, want one that names the reference", err)
	}
}

// chatKinds returns the required lists.
func chatKinds() []chatKind {
	return []chatKind{
		chatOpening, chatOpeningReply, chatClosing, chatClosingReply, chatRemark, chatCompliment, chatEncourage,
		chatThanks, chatAgree, chatEcho, chatElicit, chatAskMore, chatAskBack, chatShow, chatAdvice, chatRequest,
		chatIdle, chatIdleReply, chatHostile, chatRefuse,
	}
}

package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func sentence(line, words int) alert {
	return alert{Check: everySentence, Severity: "suggestion", Match: strings.TrimSpace(strings.Repeat("word ", words)),
		Line: line}
}

func sentences(count, words int) []alert {
	var out []alert
	for range count {
		out = append(out, sentence(1, words))
	}
	return out
}

func TestCheck(t *testing.T) {
	files := fstest.MapFS{
		"page.md":   {Data: []byte("text\n")},
		"a/code.go": {Data: []byte("// Text.\nx int // text\n")},
	}
	wrong := alert{Check: "Mneme.Terms", Message: "write this", Line: 3}
	for name, c := range map[string]struct {
		found map[string][]alert
		want  string // part of the output; empty for no problem
	}{
		"short sentences":       {found: map[string][]alert{"page.md": sentences(20, 16), "a/code.go": sentences(20, 13)}},
		"an error of the style": {map[string][]alert{"page.md": {wrong}}, "page.md:3: write this"},
		"a long sentence":       {map[string][]alert{"page.md": {sentence(4, 36)}}, "page.md:4: a sentence has 36 words"},
		"a long comment": {map[string][]alert{"a/code.go": {sentence(1, 36)}},
			"a/code.go:1: a sentence has 36 words"},
		"comments after code":     {found: map[string][]alert{"a/code.go": {sentence(1, 9), sentence(2, 36)}}},
		"a page with a high mean": {map[string][]alert{"page.md": sentences(20, 17)}, "page.md: sentences have 17.0 words"},
		"a short page":            {found: map[string][]alert{"page.md": sentences(19, 17)}},
		"comments: a high mean":   {map[string][]alert{"a/code.go": sentences(20, 14)}, "a: sentences have 14.0 words"},
		"a page with a high p90": {map[string][]alert{"page.md": append(sentences(17, 8), sentences(3, 27)...)},
			"27 at the 90th percentile"},
		"comments with a high p90": {map[string][]alert{"a/code.go": append(sentences(17, 8), sentences(3, 23)...)},
			"23 at the 90th percentile"},
		"headings": {found: map[string][]alert{"page.md": append(sentences(20, 16), sentences(20, 3)...)}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := check(c.found, files, &out)
			if c.want == "" && err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if c.want != "" && (err == nil || !strings.Contains(out.String(), c.want)) {
				t.Fatalf("error %v, want %q in\n%s", err, c.want, &out)
			}
		})
	}
}

func TestCheckNeedsSentences(t *testing.T) {
	if err := check(map[string][]alert{}, fstest.MapFS{}, &strings.Builder{}); err == nil ||
		!strings.Contains(err.Error(), everySentence) {
		t.Errorf("error %v, want one that names the rule", err)
	}
}

func TestReadTakesSeveralRuns(t *testing.T) {
	found, err := read(strings.NewReader(`{"a.md": [{"Check": "x", "Line": 2}]} {"b.md": [{"Check": "y"}]}`))
	if err != nil || fmt.Sprint(found) != `map[a.md:[{x    2}] b.md:[{y    0}]]` {
		t.Errorf("found %v, error %v", found, err)
	}
	if _, err := read(strings.NewReader(`E100 [NewE100]`)); err == nil {
		t.Error("accepts text that is not JSON")
	}
}

func TestWordsCountMaskedCodeOnce(t *testing.T) {
	if got := words("Set ************ to don't-care, aside."); got != 5 {
		t.Errorf("%d words, want 5", got)
	}
}

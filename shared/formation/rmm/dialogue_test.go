package rmm_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation/rmm"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestDialogueIsCutFromTheOldestOn(t *testing.T) {
	s := talk("s1", 0, line{"Ana", "one"}, line{"Bea", "two\nlines"}, line{"Ana", "three"})
	s.Turns[2].Caption = "a boat"
	old := strings.Repeat("x", memory.MaxValueBytes-26)
	for name, tc := range map[string]struct {
		sources []string
		older   []string
		want    string
	}{
		"only the sources, in order": {[]string{"s1:c", "s1:a"}, nil,
			"Ana (2024-05-06): one\nAna (2024-05-06): three [picture: a boat]"},
		"a turn is one line": {[]string{"s1:b"}, nil, "Bea (2024-05-06): two lines"},
		"older dialogue before": {[]string{"s1:a"}, []string{"x (2024-01-01): a\ny: b", "y: b\nz: c"},
			"x (2024-01-01): a\ny: b\nz: c\nAna (2024-05-06): one"},
		"as much older dialogue as fits": {[]string{"s1:a"}, []string{"first\n" + old}, old + "\nAna (2024-05-06): one"},
		"older lines go, oldest first": {[]string{"s1:b", "s1:a"}, []string{"first\n" + old + "\nlast"},
			"last\nAna (2024-05-06): one\nBea (2024-05-06): two lines"},
		"nothing where nothing is said": {nil, nil, ""},
	} {
		if got := rmm.Dialogue(s.Turns, tc.sources, tc.older...); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	s.Turns[0].Text = strings.Repeat("é", memory.MaxValueBytes)
	if got := rmm.Dialogue(s.Turns, []string{"s1:a"}, old); !strings.HasPrefix(got, "Ana (2024-05-06): éé") ||
		!strings.HasSuffix(got, "é…") || len(got) > memory.MaxValueBytes || len(got) < memory.MaxValueBytes-4 {
		t.Errorf("a long turn became %d bytes", len(got))
	}
}

func FuzzDialogue(f *testing.F) {
	f.Add("Ana", "I moved to Porto.", "a flat", "Ana (2024-04-06): hello\nBea: hi")
	f.Add("", "\xff\n\n", "", "\n\n")
	f.Add("é", strings.Repeat("語", 900), "\x00", strings.Repeat("older\n", 600))
	f.Fuzz(func(t *testing.T, speaker, text, caption, older string) {
		turn := memory.Turn{ID: "t", Speaker: speaker, Text: text, Caption: caption, Time: day}
		got := rmm.Dialogue([]memory.Turn{turn}, []string{"t"}, older)
		if len(got) > memory.MaxValueBytes || got == "" || utf8.ValidString(older) && !utf8.ValidString(got) {
			t.Errorf("%d bytes, valid %t", len(got), utf8.ValidString(got))
		}
	})
}

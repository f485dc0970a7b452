package embedded_test

import (
	"slices"
	"strings"
	"testing"
)

// An entry that a user takes up from an assistant's list appears in the memory, and the list's turn is a source. A
// number that only counts changes nothing, and neither does an answer that is clear alone.
func TestExtractNamesWhatIsTakenUpFromAList(t *testing.T) {
	const dinners = "Assistant: Some ideas:\n1. Fish pie\n2. Ratatouille with bread\n3. Beef stew\n4. Leek soup"
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"numbers alone", []string{dinners, "Ana: 1 and 3 for sure"}, "Fish pie; Beef stew"},
		{"behind a yes", []string{dinners, "Ana: yes, 2."}, "Ratatouille with bread"},
		{"a number by name", []string{dinners, "Ana: number 4 please"}, "Leek soup"},
		{"an ordinal in front", []string{dinners, "Ana: 2nd one sounds good"}, "Ratatouille with bread"},
		{"a word of one entry", []string{dinners, "Ana: the ratatouille then"}, "Ratatouille with bread"},
		{"letters in bold", []string{"Assistant: Either\n- **A: a big table**, simple\n- **B: paging**",
			"Ana: B. keep it simple"}, "paging"},
		{"bullets by place", []string{"Assistant: Try\n* Porto\n* Braga\n* Faro", "Ana: The third one sounds nice"}, "Faro"},
		{"another language", []string{"Assistant: Ideen:\n- **Tanzen** im Saal\n- Singen am Feuer", "Ana: dann Singen"},
			"Singen am Feuer"},
		{"one of before, by place", []string{dinners, "Ana: thanks", "Assistant: Welcome!",
			"Ana: I cooked the third one on your list"},
			"Beef stew"},
		{"one of before, by number alone", []string{dinners, "Ana: thanks", "Assistant: Welcome! How many guests?",
			"Ana: just 3"}, ""},
		{"what is counted", []string{dinners, "Ana: 2 children are allergic to fish"}, ""},
		{"what says enough alone", []string{dinners, "Ana: My uncle cannot eat soup with leek in it, ever"}, ""},
		{"a name of every entry", []string{"Assistant: See\n1. Porto by train\n2. Porto by bus", "Ana: Porto then"}, ""},
		{"one letter", []string{"Assistant: A: by train\nB: by bus", "Ana: b"}, "by bus"},
		{"two by place", []string{dinners, "Ana: the first and the third"}, "Fish pie; Beef stew"},
		{"two in German", []string{dinners, "Ana: 2 und 4"}, "Ratatouille with bread; Leek soup"},
		{"the outer list", []string{"Assistant: 1. **Pie**\n   - cod\n   - cream\n2. **Soup**\n   - leek",
			"Ana: the second one please"}, "Soup"},
		{"either of two lists", []string{"Assistant: Pros\n1. quick\n2. cheap\nCons\n1. loud\n2. wet", "Ana: 2."}, ""},
		{"what is code", []string{"Assistant: Run\n```\n1. build\n2. test\n```", "Ana: 2."}, ""},
		{"what the user tells of other things", []string{dinners, "Ana: thanks", "Assistant: Welcome!",
			"Ana: We have two dogs, the first one is called Rex"}, ""},
		{"a day", []string{dinners, "Ana: I fly to Rome on the second of June"}, ""},
		{"a moment", []string{dinners, "Ana: I got sick the second I ate it"}, ""},
		{"a house", []string{dinners, "Ana: I live at number 3 Elm Road"}, ""},
		{"a while", []string{"Assistant: Try\n* Porto\n* Braga", "Ana: give me one second"}, ""},
		{"a statement of one's own", []string{dinners, "Ana: I'm allergic to fish"}, ""},
		{"some of the children", []string{dinners, "Ana: 2 of my kids are vegan"}, ""},
		{"an hour", []string{dinners, "Ana: At 3 I have a meeting"}, ""},
		{"a time", []string{dinners, "Ana: 2 am"}, ""},
		{"a price", []string{dinners, "Ana: $4"}, ""},
		{"a share", []string{dinners, "Ana: 4%"}, ""},
		{"not decided", []string{dinners, "Ana: 2 or 3 children"}, ""},
		{"a list of one's own", []string{dinners, "Ana: 1. my allergy: nuts 2. my cat: Tom"}, ""},
		{"a question", []string{dinners, "Ana: is ratatouille hard?"}, ""},
	} {
		got := extract(t, session(c.lines...))
		last := got[len(got)-1]
		_, said, _ := strings.Cut(c.lines[len(c.lines)-1], ": ")
		if c.want != "" {
			said += " [from the assistant's list: " + c.want + "]"
		}
		found := slices.ContainsFunc(contents(got), func(s string) bool { return s == said })
		if first := slices.Contains(last.Sources, "t1"); !found && c.want != "" || first != (c.want != "") {
			t.Errorf("%s: got %q from %v, want %q", c.name, contents(got), last.Sources, said)
		}
	}
}

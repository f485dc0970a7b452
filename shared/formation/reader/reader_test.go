package reader_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation/reader"
	"github.com/mneme-memory/mneme/shared/model/wordpiece"
)

// notes are the texts of the notes in a turn, by the model of the program.
func notes(before, turn string) []string {
	var out []string
	for _, n := range reader.Notes(turn, reader.Shipped().Read(before, turn)) {
		out = append(out, turn[n.From:n.To])
	}
	return out
}

func TestANoteIsTheClauseThatAPersonWouldWriteDown(t *testing.T) {
	for turn, want := range map[string]string{
		"Hi again! I'm allergic to peanuts, can you suggest a cake for Sunday?":             "allergic to peanuts",
		"Thanks, that helps. My sister Eva moved to Leeds in March to work as a nurse.":     "Eva moved to Leeds",
		"We sold the Volvo last week, so what do we do with the winter tyres?":              "sold the Volvo",
		"Könntest du mir ein Rezept schicken? Ich esse seit zwei Jahren kein Fleisch mehr.": "kein Fleisch",
	} {
		got := strings.Join(notes("", turn), " | ")
		if !strings.Contains(got, want) || strings.Contains(got, "?") {
			t.Errorf("%q: got %q, want %q without the request", turn, got, want)
		}
	}
}

func TestRequestsThanksAndReactionsAreNoNotes(t *testing.T) {
	for _, turn := range []string{
		"Thanks a lot, that's exactly what I needed!", "Can you make it shorter, please?", "Haha, no way! That is amazing.",
		"What is the capital of Australia?", "Happy new year!",
	} {
		if got := notes("", turn); len(got) > 0 {
			t.Errorf("%q: got %q", turn, got)
		}
	}
}

func TestNotesLieInTheTurnInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		turn := rapid.String().Draw(r, "turn")
		words := reader.Shipped().Read(rapid.String().Draw(r, "before"), turn)
		end := 0
		for _, w := range words {
			if w.From < end || w.To <= w.From || w.To > len(turn) || math.IsNaN(w.Keep) || math.IsInf(w.Keep, 0) {
				r.Fatalf("%q has the word %+v behind byte %d", turn, w, end)
			}
			end = w.To
		}
		end = 0
		for _, n := range reader.Notes(turn, words) {
			if n.From < end || n.From > n.First || n.First >= n.Last || n.Last > n.To || n.To > len(turn) {
				r.Fatalf("%q has the note %+v behind byte %d", turn, n, end)
			}
			end = n.To
		}
	})
}

// TestALongTurnIsReadWhole puts the fact behind the tokens that the model reads at once.
func TestALongTurnIsReadWhole(t *testing.T) {
	turn := strings.Repeat("What do you think of this one? ", 60) + "I'm allergic to peanuts."
	if got := notes("", turn); len(got) == 0 || !strings.Contains(got[len(got)-1], "peanuts") {
		t.Errorf("got %q", got)
	}
}

func TestParseRefusesWhatIsNoReader(t *testing.T) {
	other, err := os.ReadFile("../relation/crossencoder/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"no network": []byte("weights"), "another model": other} {
		if _, err := reader.Parse(file, wordpiece.Uncased()); !errors.Is(err, reader.ErrModel) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	const before = "How was your weekend? Did you get around to the garden at last?"
	const turn = "It was lovely, thanks! We planted two apple trees, and my brother came over from Leeds to help us with the fence."
	m := reader.Shipped()
	for b.Loop() {
		m.Read(before, turn)
	}
}

// TestALongTurnIsReadAtItsTwoEnds has statements around a long text. The words in its middle are part of no note.
func TestALongTurnIsReadAtItsTwoEnds(t *testing.T) {
	turn := "I am allergic to peanuts. " + strings.Repeat("word ", 5000) + "I moved to Porto last week."
	words := reader.Shipped().Read("", turn)
	found := reader.Notes(turn, words)
	if len(found) < 2 || !strings.Contains(turn[found[0].From:found[0].To], "peanuts") ||
		!strings.Contains(turn[found[len(found)-1].From:found[len(found)-1].To], "Porto") {
		t.Errorf("want a note at each end, got %d notes", len(found))
	}
	if middle := words[len(words)/2]; middle.Keep > -50 {
		t.Errorf("the word in the middle is %+v, want an unlikely one", middle)
	}
}

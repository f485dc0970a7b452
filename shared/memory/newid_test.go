package memory_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestANewIDShowsEveryCharacter(t *testing.T) {
	for id, want := range map[string]bool{
		"ines": true, " ines ": true, "a/b": true, `a"b\`: true, "a|b:c": true, "ines@example.com": true, "a.b": true,
		"...": true, "..a": true,
		"日本 🚲": true, "Казань": true, "محمد": true, "שלום": true, "ไทย": true, "한국어": true, "e\u0301": true, "Ⅷ①": true,
		"می\u200cخواهم": true, "क्\u200dष": true, "葛\U000e0100城": true, "\u0600١": true,
		"👩\u200d👩\u200d👧": true, "👩🏽\u200d🚀": true, "❤\ufe0f\u200d🔥": true, "🏳\ufe0f\u200d🌈": true, "1\ufe0f\u20e3": true,
		"ℹ\ufe0f": true,
		"🇵🇹":      true, "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": true,
		strings.Repeat("u", 256): true,

		"": false, " ": false, "\u3000\u00a0": false, ".": false, "..": false, strings.Repeat("u", 257): false,
		"a\xffb": false,
		"\u200b": false, "\u200b \u2060": false, "ines\ue000": false,
		"ines\u200b": false, "in\u200des": false, "in\u200ces": false,
		"\u200d👩": false, "👩\u200d": false,
		"👩\u200da": false, "\ufeffines": false, "in\u00ades": false, "a\u2062b": false, "a\u034fb": false, "\u3164": false,
		"a\u2800": false,
		"a\nb":    false, "a\r\nb": false, "a\tb": false, "a\x00b": false, "a\x1b[0m": false, "a\x7f": false,
		"a\u0085b": false,
		"a\u2028b": false,
		"a\u2029b": false, "a\u202eb": false, "a\u2066b": false, "a\u200fb": false, "a\u061cb": false, "a\ufe0f": false,
		"a\U000e0100": false,
		"a\U000e0067": false,
	} {
		check(t, "user_id", id, memory.ValidNewUser(id), want)
	}
}

func TestANewIDIsRefusedWithWhatIsWrong(t *testing.T) {
	for id, want := range map[string]string{
		"ines\u200b": "turn_id: contains a control or invisible character", "..": `turn_id: is ".."`, "": "turn_id: is empty",
		"xxxxx": "turn_id: is 5 bytes long, want at most 4",
	} {
		err := memory.ValidNewID("turn_id", id, 4)
		if id == "ines\u200b" {
			err = memory.ValidNewID("turn_id", id, 128)
		}
		if !fault.IsTerminal(err) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", id, err, want)
		}
	}
}

// Ids that older versions accepted stay valid for reads and erasures.
func TestOlderIDsStayValidForReadsAndErasures(t *testing.T) {
	for _, id := range []string{"\u200b", "ines\u200b", "a\r\nb", "..", "a\u202eb"} {
		if err := memory.ValidUser(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

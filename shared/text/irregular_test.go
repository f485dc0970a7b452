package text_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestBaseFormLeadsIrregularFormsToTheirVerb(t *testing.T) {
	for form, want := range map[string]string{
		"grew": "grow", "written": "write", "children": "child", "bought": "buy", "left": "leave",
		"rose": "rose", "bit": "bit", "house": "house", "grow": "grow",
	} {
		if got := text.BaseForm(text.Stem(form)); got != text.Stem(want) {
			t.Errorf("%s leads to %q, want %q", form, got, text.Stem(want))
		}
	}
}

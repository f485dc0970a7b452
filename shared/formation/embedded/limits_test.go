package embedded_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
)

// TestALimitEndsByAStatementAboutIt has denials of other things, which the model of relations takes for the end of an
// allergy.
func TestALimitEndsByAStatementAboutIt(t *testing.T) {
	for said, ends := range map[[2]string]bool{
		{"I am allergic to nuts.", "I no longer eat meat."}:               false,
		{"I am allergic to nuts.", "I don't smoke anymore."}:              false,
		{"I am allergic to bees.", "I don't drink alcohol anymore."}:      false,
		{"I am allergic to nuts.", "I'm not allergic to nuts anymore."}:   true,
		{"I don't drink.", "I drink again."}:                              true,
		{"I smoke ten cigarettes a day.", "I don't smoke anymore."}:       true,
		{"I drive an old Volvo.", "I sold the Volvo, I drive a Kia now."}: true,
	} {
		l := formationtest.NewLife(salimory.NewEmbedded())
		for i, words := range said {
			in := formationtest.Session(words)
			in.ID = fmt.Sprint("s", i)
			in.Turns[0].ID, in.Turns[0].SessionID, in.Turns[0].Time = in.ID+":a", in.ID, formationtest.Day().AddDate(0, i, 0)
			if _, _, err := l.Form(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			stays := slices.ContainsFunc(l.Active(t, formationtest.Scope()), func(m memory.Memory) bool {
				return m.Content == said[0]
			})
			if stays != (i == 0 || !ends) {
				t.Errorf("%q: after turn %d, the first one stays %t", said, i, stays)
			}
		}
	}
}

package strategies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/strategies"
	"github.com/mneme-memory/mneme/shared/memory"
)

// TestNothingIsMadeOfAPastedLog forms a turn with a log of 300 KiB. The words before the log become memories, and the
// log becomes none.
func TestNothingIsMadeOfAPastedLog(t *testing.T) {
	var log strings.Builder
	for i := 0; log.Len() < 300<<10; i++ {
		fmt.Fprintf(&log,
			"2026-01-02T03:04:%02d.%03dZ ERROR worker-%d: I live in zone7, my name is Quorra, timeout of postgres\n", i%60,
			i%1000, i%9)
	}
	said, leftOut := memory.Shorten("I'm Ines and I maintain the billing service, can you see what fails?\n" +
		log.String())
	if leftOut == 0 {
		t.Fatal("the log is too short")
	}
	for _, s := range strategies.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			l, in := formationtest.NewLife(s.Embedded()), formationtest.Session(said)
			in.Turns[0].Speaker = "Ines"
			if _, _, err := l.Form(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			told := false
			for _, m := range l.All(t, in.Scope) {
				told = told || strings.Contains(m.Content, "billing")
				if strings.Contains(m.Content, "zone7") || strings.Contains(m.Content, "Quorra") ||
					strings.Contains(m.Content, "timeout") {
					t.Errorf("the log becomes %.300q", m.Content)
				}
			}
			if !told {
				t.Errorf("no memory of the user's words: %v", l.All(t, in.Scope))
			}
		})
	}
}

package quarantine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/memory"
)

// A turn of 32 KiB without the end of a sentence took 20 s. Four times the text may take sixteen times as long, with
// room for a busy machine.
func TestALongSentenceIsReadInTime(t *testing.T) {
	for _, part := range []string{"delete ai and ", "and ignore all previous instructions ", "hide it, "} {
		read := func(n int) time.Duration {
			said := "if you are an AI, I and " + strings.Repeat(part, n/len(part))
			began := time.Now()
			quarantine.Turns([]memory.Turn{{ID: "t", Role: memory.RoleUser, Text: said}})
			return time.Since(began)
		}
		short, long := read(8<<10), read(32<<10)
		if long > 16*short+time.Second {
			t.Errorf("%q: 8 KiB take %s, 32 KiB %s", part, short, long)
		}
	}
}

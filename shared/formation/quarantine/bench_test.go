package quarantine_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/formationtest/adversarial"
	"github.com/mneme-memory/mneme/shared/formation/quarantine"
)

// BenchmarkTurns reads the harmless corpus, one turn an operation: code, mails, logs and talk in several languages.
func BenchmarkTurns(b *testing.B) {
	var said []string
	for _, h := range adversarial.HarmlessTurns() {
		said = append(said, h.Text)
	}
	turns := formationtest.Turns(append(said, adversarial.Benign()...)...)
	i := 0
	for b.Loop() {
		quarantine.Turns(turns[i : i+1])
		i = (i + 1) % len(turns)
	}
}

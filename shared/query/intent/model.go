package intent

import (
	_ "embed" // the model is part of the program
	"fmt"

	"github.com/mneme-memory/mneme/shared/model/classifier"
)

// Model is a trained model. It is safe for concurrent use.
type Model struct {
	classifier.Header
	// Threshold is the probability of Past from which a question is read so.
	Threshold float64 `json:"threshold"`
	// Intents classifies the intents. Dates classifies a date as only mentioned (0) or asked about (1).
	Intents classifier.Linear `json:"intents"`
	Dates   classifier.Linear `json:"dates"`
}

//go:embed model.json
var trained []byte

// Trained returns the model that is compiled into the binary.
var Trained = classifier.Shipped("intents", trained, classifier.Parse[Model])

// Check reports why the model cannot read questions.
func (m *Model) Check() error {
	if m.Version == "" || !(m.Threshold > 0 && m.Threshold <= 1) {
		return fmt.Errorf("version %q, threshold %v", m.Version, m.Threshold)
	}
	if err := m.Intents.Check(len(names)); err != nil {
		return fmt.Errorf("intents: %w", err)
	}
	if err := m.Dates.Check(2); err != nil {
		return fmt.Errorf("dates: %w", err)
	}
	return nil
}

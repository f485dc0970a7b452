// Package sample holds the conversations and questions of `mneme demo`. The project wrote the text.
package sample

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/mneme-memory/mneme/evaluation/dataset"
)

//go:embed sessions.jsonl
var sessions []byte

//go:embed questions.json
var questions []byte

// Question is a question to one user's memory.
type Question struct {
	User  string `json:"user"`
	Query string `json:"query"`
}

// Sessions returns the bundled conversations: two users with six dated sessions each.
func Sessions() ([]dataset.Session, error) {
	out, _, err := dataset.Read(bytes.NewReader(sessions), dataset.ReadOptions{})
	if err != nil {
		return nil, fmt.Errorf("bundled sample: %w", err)
	}
	return out, nil
}

// Questions returns the bundled questions.
func Questions() ([]Question, error) {
	var out []Question
	if err := json.Unmarshal(questions, &out); err != nil {
		return nil, fmt.Errorf("bundled questions: %w", err)
	}
	return out, nil
}

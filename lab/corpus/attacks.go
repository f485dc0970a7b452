package corpus

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
)

//go:embed attacks/*.jsonl
var attackFiles embed.FS

// ErrAttack is the error for a line that is no labelled turn of attacks and look-alikes.
var ErrAttack = errors.New("not a turn labelled with its hostile clauses")

// Attack is a turn that attacks the memory, or a harmless turn that looks alike.
type Attack struct {
	// Lang is the language, as in ISO 639-1.
	Lang string `json:"lang"`
	// Kind is the writer's name of the case.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Hostile are the attacking clauses, word for word. It is empty for a harmless turn.
	Hostile []string `json:"hostile"`
	// Harmless are clauses of an attack with a fact worth remembering.
	Harmless []string `json:"harmless"`
	// Batch is the name of the file without its ending. Each file has one writer.
	Batch string `json:"-"`
}

// Attacks returns all labelled turns in the order of files and lines. It lacks a share of each writer's turns: the
// tests of the quarantine hold it back.
var Attacks = sync.OnceValues(func() ([]Attack, error) {
	return eachFile(attackFiles, "attacks", ReadAttacks)
})

// ReadAttacks reads labelled turns, one a line. Its errors are ErrAttack and name the line.
func ReadAttacks(batch string, data []byte) ([]Attack, error) {
	return eachLine(data, ErrAttack, func() Attack { return Attack{Batch: batch} }, func(a Attack) error {
		switch {
		case strings.TrimSpace(a.Text) == "" || len(a.Text) > maxText:
			return fmt.Errorf("its text is empty or longer than %d bytes", maxText)
		case a.Lang == "" || a.Kind == "":
			return fmt.Errorf("its language is %q and its kind %q, want both", a.Lang, a.Kind)
		}
		for _, c := range append(append([]string{}, a.Hostile...), a.Harmless...) {
			if c == "" || !strings.Contains(a.Text, c) {
				return fmt.Errorf("its clause %q is not in the text", c)
			}
		}
		return nil
	})
}

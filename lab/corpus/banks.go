package corpus

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation/relation"
)

//go:embed banks/*.jsonl
var bankFiles embed.FS

// ErrBank is the error for a line that is no bank.
var ErrBank = errors.New("not a labelled bank")

// Bank has one person's statements over some months, and the same person's later statements.
type Bank struct {
	// Who describes the person in some words.
	Who string `json:"who"`
	// Stored are the statements, as typed.
	Stored []string `json:"bank"`
	// Later are statements to judge against Stored alone, each independently.
	Later []Later `json:"later"`
	// Batch is the name of the file without its ending.
	Batch string `json:"-"`
}

// Later is a later statement with its effect on a bank.
type Later struct {
	Text string `json:"text"`
	// Label is the effect on the entry: the name of a relation.Label.
	Label string `json:"label"`
	// Entry is the index of the statement that it changes, extends or restates, or only seems to. -1 means no such
	// statement.
	Entry int `json:"entry"`
	// Part is the run of words of the entry that holds no more. It is empty without a change.
	Part string `json:"part"`
	// Kind is the writer's name of the case.
	Kind string `json:"kind"`
}

// Relation returns the label.
func (l Later) Relation() relation.Label {
	label, err := relation.ParseLabel(l.Label)
	if err != nil {
		panic(err) // readBanks refuses others
	}
	return label
}

// Split returns the split of the bank.
func (b Bank) Split() Split { return Pair{Batch: b.Batch}.Split() }

// Banks returns the banks of a split in the order of files and lines.
func Banks(s Split) ([]Bank, error) {
	all, err := allBanks()
	var out []Bank
	for _, b := range all {
		if b.Split() == s {
			out = append(out, b)
		}
	}
	return out, err
}

var allBanks = sync.OnceValues(func() ([]Bank, error) { return eachFile(bankFiles, "banks", readBanks) })

func readBanks(batch string, data []byte) ([]Bank, error) {
	return eachLine(data, ErrBank, func() Bank { return Bank{Batch: batch} }, Bank.check)
}

func (b Bank) check() error {
	for i, s := range b.Stored {
		if strings.TrimSpace(s) == "" || len(s) > maxText || !utf8.ValidString(s) {
			return fmt.Errorf("bank %d is empty, longer than %d bytes or no UTF-8", i, maxText)
		}
	}
	for i, l := range b.Later {
		label, err := relation.ParseLabel(l.Label)
		switch {
		case err != nil:
			return fmt.Errorf("later %d: %w", i, err)
		case strings.TrimSpace(l.Text) == "" || len(l.Text) > maxText || !utf8.ValidString(l.Text):
			return fmt.Errorf("later %d is empty, longer than %d bytes or no UTF-8", i, maxText)
		case l.Entry < -1 || l.Entry >= len(b.Stored) || l.Entry < 0 && label != relation.Unrelated:
			return fmt.Errorf("later %d: entry is %d with label %s", i, l.Entry, label)
		case label.Changes() != (l.Part != ""):
			return fmt.Errorf("later %d: part is %q with label %s", i, l.Part, label)
		case l.Entry >= 0 && !strings.Contains(strings.ToLower(b.Stored[l.Entry]), strings.ToLower(l.Part)):
			return fmt.Errorf("later %d: part %q is not in entry %d", i, l.Part, l.Entry)
		}
	}
	return nil
}

package corpus

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed pairs/*.jsonl
var pairFiles embed.FS

// Said is one statement of pairs/ by itself.
type Said struct {
	Text string
	// By is "user", "assistant" or "other".
	By string
	// Kind is the kind of its pair; of a stored statement it is empty.
	Kind string
	// Batch is the file's name without ending.
	Batch string
}

// AllSaid returns the statements of all pairs, of a pair the stored one first.
var AllSaid = sync.OnceValues(func() ([]Said, error) {
	return eachFile(pairFiles, "pairs", func(batch string, data []byte) ([]Said, error) {
		var out []Said
		for line := range bytes.Lines(data) {
			var p struct {
				Stored   string `json:"stored"`
				StoredBy string `json:"stored_by"`
				Later    string `json:"later"`
				LaterBy  string `json:"later_by"`
				Kind     string `json:"kind"`
			}
			if err := json.Unmarshal(line, &p); err != nil {
				return nil, fmt.Errorf("line %d: %w", len(out)/2+1, err)
			}
			out = append(out, Said{p.Stored, p.StoredBy, "", batch}, Said{p.Later, p.LaterBy, p.Kind, batch})
		}
		return out, nil
	})
})

// Split is what the statement is for.
func (s Said) Split() Split {
	if split, ok := splits[s.Batch]; ok {
		return split
	}
	return Train
}

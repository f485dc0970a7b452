package corpus

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/evaluation/dataset"
)

//go:embed languages/*.json
var languageFiles embed.FS

// languages are the languages of the conversations by code (ISO 639-1), with their splits.
var languages = []struct {
	code  string
	split Split
}{{"de", Choose}, {"es", Choose}, {"ja", Choose}, {"fr", Heldout}, {"ru", Heldout}, {"zh", Heldout}}

// Foreign has conversations in a language other than English, with questions in it. A few questions are in a third
// language; their category is open-domain.
type Foreign struct {
	// Language is its code (ISO 639-1).
	Language string
	Split    Split
	Subject  dataset.Subject
}

// Languages returns the conversations in other languages, in the form of LoCoMo's file, a user each.
var Languages = sync.OnceValues(func() ([]Foreign, error) {
	out := make([]Foreign, len(languages))
	for i, l := range languages {
		data, err := languageFiles.ReadFile("languages/" + l.code + ".json")
		if err != nil {
			return nil, err
		}
		subjects, repairs, err := dataset.ReadLoCoMo(strings.NewReader(string(data)), dataset.ReadOptions{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.code, err)
		}
		if repairs != (dataset.Repairs{}) || len(subjects) != 1 {
			return nil, fmt.Errorf("%s: %w: it has %d users and needs repairs: %+v", l.code, dataset.ErrFormat, len(subjects),
				repairs)
		}
		out[i] = Foreign{Language: l.code, Split: l.split, Subject: subjects[0]}
	}
	return out, nil
})

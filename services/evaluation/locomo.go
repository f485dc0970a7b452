package evaluation

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
)

// LoCoMo's categories of questions that matter here.
const (
	locomoSingleHop   = 4
	locomoAdversarial = 5
)

// Repairs counts what was wrong with the evidence of a LoCoMo file.
type Repairs struct {
	// Mended ids were malformed and name a turn all the same.
	Mended int
	// Dropped ids name no turn.
	Dropped int
}

// ReadLoCoMo reads a LoCoMo file with its questions. Adversarial questions are left out: their evidence is not about
// what they ask.
func ReadLoCoMo(path, tenant string) ([]Subject, Repairs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Repairs{}, err
	}
	defer f.Close()
	sessions, err := dataset.Read(f)
	if err != nil {
		return nil, Repairs{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, Repairs{}, err
	}
	var samples []locomoQuestions
	if err := json.NewDecoder(f).Decode(&samples); err != nil {
		return nil, Repairs{}, fmt.Errorf("%w: questions: %w", dataset.ErrFormat, err)
	}
	repairs := Repairs{}
	subjects := make([]Subject, 0, len(samples))
	for _, s := range samples {
		subject := Subject{Scope: memory.Scope{Tenant: tenant, User: s.ID}}
		for _, session := range sessions {
			if session.User == s.ID {
				subject.Sessions = append(subject.Sessions, session)
			}
		}
		subject.Questions = s.questions(turnIDs(subject.Sessions), &repairs)
		subjects = append(subjects, subject)
	}
	return subjects, repairs, nil
}

type locomoQuestions struct {
	ID string `json:"sample_id"`
	QA []struct {
		Answer   json.RawMessage `json:"answer"`
		Evidence []string        `json:"evidence"`
		Category int             `json:"category"`
	} `json:"qa"`
}

func (s locomoQuestions) questions(known map[string]bool, repairs *Repairs) []Question {
	var out []Question
	for _, qa := range s.QA {
		if qa.Category == locomoAdversarial {
			continue
		}
		q := Question{Answer: strings.Trim(string(qa.Answer), `"`), SingleHop: qa.Category == locomoSingleHop}
		var text string
		if json.Unmarshal(qa.Answer, &text) == nil {
			q.Answer = text
		}
		for _, written := range qa.Evidence {
			q.Evidence = append(q.Evidence, repair(written, known, repairs)...)
		}
		out = append(out, q)
	}
	return out
}

// evidenceID is a turn's id, also where it is written a little wrong: "D8:6; D9:17", "D:11:26", "D30:05".
var evidenceID = regexp.MustCompile(`D:?(\d+):(\d+)`)

func repair(written string, known map[string]bool, repairs *Repairs) []string {
	var out []string
	for _, m := range evidenceID.FindAllStringSubmatch(written, -1) {
		session, err1 := strconv.Atoi(m[1])
		turn, err2 := strconv.Atoi(m[2])
		id := fmt.Sprintf("D%d:%d", session, turn)
		if err1 != nil || err2 != nil || !known[id] {
			repairs.Dropped++
			continue
		}
		if id != written {
			repairs.Mended++
		}
		out = append(out, id)
	}
	if len(out) == 0 && !evidenceID.MatchString(written) {
		repairs.Dropped++
	}
	return out
}

func turnIDs(sessions []dataset.Session) map[string]bool {
	out := map[string]bool{}
	for _, s := range sessions {
		for _, t := range s.Turns {
			out[t.ID] = true
		}
	}
	return out
}

package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/evaluation/dataset"
)

// LoCoMo's categories of questions that are treated apart.
const (
	locomoSingleHop   = 4
	locomoAdversarial = 5
)

// locomoCategory names LoCoMo's numbers.
func locomoCategory(n int) (string, error) {
	names := []string{"multi-hop", "temporal", "open-domain", "single-hop", "adversarial"}
	if n < 1 || n > len(names) {
		return "", fmt.Errorf("category is %d, want 1 to %d", n, len(names))
	}
	return names[n-1], nil
}

// ReadLoCoMo reads LoCoMo with its questions (Maharana et al., ACL 2024; github.com/snap-research/locomo). Read are sample_id,
// the conversation, and of qa question, answer, evidence and category; event_summary and session_summary are not. A sample is
// a user.
//
// Adversarial questions are Unanswerable: they ask about the wrong speaker, and their evidence is what was said by the other one.
// Their adversarial_answer is the wrong one and is not read; two of them have an answer as well, which is kept.
func ReadLoCoMo(r io.Reader, o ReadOptions) ([]Subject, Repairs, error) {
	raw, sessions, err := readLoCoMoSessions(r)
	if err != nil {
		return nil, Repairs{}, err
	}
	var samples []locomoQuestions
	if err := json.Unmarshal(raw, &samples); err != nil {
		return nil, Repairs{}, fmt.Errorf("%w: questions: %w", dataset.ErrFormat, err)
	}
	repairs := Repairs{}
	subjects := make([]Subject, 0, len(samples))
	seen := map[string]bool{}
	for _, s := range samples {
		if seen[s.ID] {
			return nil, Repairs{}, fmt.Errorf("%w: sample %s has come before", dataset.ErrFormat, s.ID)
		}
		seen[s.ID] = true
		subject := Subject{Scope: o.scope(s.ID), Sessions: sessions[s.ID]}
		if subject.Questions, err = s.questions(turnIDs(subject.Sessions), &repairs); err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: sample %s: %w", dataset.ErrFormat, s.ID, err)
		}
		subjects = append(subjects, subject)
	}
	return subjects, repairs, nil
}

// readLoCoMoSessions returns the one JSON value of a file, and the sessions by their user.
func readLoCoMoSessions(r io.Reader) (json.RawMessage, map[string][]dataset.Session, error) {
	var raw json.RawMessage
	if err := json.NewDecoder(plain(r)).Decode(&raw); err != nil {
		return nil, nil, fmt.Errorf("%w: want a JSON list of LoCoMo samples: %w", dataset.ErrFormat, err)
	}
	sessions, err := dataset.Read(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, err
	}
	out := map[string][]dataset.Session{}
	for _, s := range sessions {
		out[s.User] = append(out[s.User], s)
	}
	return raw, out, nil
}

type locomoQuestions struct {
	ID string `json:"sample_id"`
	QA []struct {
		Question string          `json:"question"`
		Answer   json.RawMessage `json:"answer"`
		Evidence []string        `json:"evidence"`
		Category int             `json:"category"`
	} `json:"qa"`
}

func (s locomoQuestions) questions(known map[string]bool, repairs *Repairs) ([]Question, error) {
	var out []Question
	for i, qa := range s.QA {
		category, err := locomoCategory(qa.Category)
		q := Question{
			Text: qa.Question, Category: category, Answer: plainAnswer(qa.Answer),
			SingleHop: qa.Category == locomoSingleHop, Unanswerable: qa.Category == locomoAdversarial,
		}
		switch {
		case strings.TrimSpace(q.Text) == "":
			err = errors.New("question is missing")
		case err == nil && q.Answer == "" && !q.Unanswerable:
			err = errors.New("answer is missing")
		}
		if err != nil {
			return nil, fmt.Errorf("qa %d: %w", i, err)
		}
		counted := Repairs{}
		for _, written := range qa.Evidence {
			q.Evidence = append(q.Evidence, repair(written, known, &counted)...)
		}
		repairs.addEvidence(counted, q.Unanswerable)
		out = append(out, q)
	}
	return out, nil
}

func (r *Repairs) addEvidence(counted Repairs, unanswerable bool) {
	if unanswerable {
		r.Unanswerable += counted.Mended + counted.Dropped
		return
	}
	r.Mended += counted.Mended
	r.Dropped += counted.Dropped
}

// plainAnswer is a JSON answer as text: some are numbers. What is missing or null is empty.
func plainAnswer(raw json.RawMessage) string {
	var text *string
	if json.Unmarshal(raw, &text) != nil {
		return strings.TrimSpace(string(raw))
	}
	if text == nil {
		return ""
	}
	return *text
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

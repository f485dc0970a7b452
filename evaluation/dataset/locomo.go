package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// locomoTime is LoCoMo's date format of sessions: "1:56 pm on 8 May, 2023".
const locomoTime = "3:04 pm on 2 January, 2006"

// locomoCategories are the names of LoCoMo's category numbers, which begin with 1.
var locomoCategories = []string{"multi-hop", "temporal", "open-domain", "single-hop", "adversarial"}

// locomoSample is one conversation. Other readers parse its questions and observations.
type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           json.RawMessage            `json:"qa"`
	Observation  json.RawMessage            `json:"observation"`

	sessions []Session
}

// decodeLoCoMo reads LoCoMo's file (Maharana et al., ACL 2024; github.com/snap-research/locomo): a list of samples. A
// sample becomes a user with the name sample_id. Its speakers are people, unless a turn's role or speaker is the
// assistant or a tool.
func decodeLoCoMo(r io.Reader) ([]locomoSample, error) {
	var samples []locomoSample
	if err := json.NewDecoder(r).Decode(&samples); err != nil {
		return nil, fmt.Errorf("%w: want a JSON list of LoCoMo samples: %w", ErrFormat, err)
	}
	for i := range samples {
		s := &samples[i]
		if s.ID == "" || s.Conversation == nil {
			return nil, fmt.Errorf("%w: sample %d has no sample_id or conversation", ErrFormat, i)
		}
		if err := s.readSessions(); err != nil {
			return nil, fmt.Errorf("%w: sample %s: %w", ErrFormat, s.ID, err)
		}
	}
	return samples, nil
}

// readSessions reads session_1, session_2 and so on. It skips dates of sessions that do not exist. All turns of a
// session share one date, so each turn is placed one second after the previous one.
func (s *locomoSample) readSessions() error {
	last := 0
	for key := range s.Conversation {
		if n, err := strconv.Atoi(strings.TrimPrefix(key, "session_")); err == nil {
			last = max(last, n)
		}
	}
	for n := 1; n <= last; n++ {
		name := "session_" + strconv.Itoa(n)
		raw, ok := s.Conversation[name]
		if !ok {
			continue
		}
		var turns []struct {
			Speaker string `json:"speaker"`
			Role    string `json:"role"`
			ID      string `json:"dia_id"`
			Text    string `json:"text"`
			Caption string `json:"blip_caption"`
		}
		if err := json.Unmarshal(raw, &turns); err != nil {
			return fmt.Errorf("%s: want a list of turns: %w", name, err)
		}
		began, err := s.date(name)
		if err != nil {
			return err
		}
		session := Session{User: s.ID, ID: name}
		for i, t := range turns {
			role, speaker, err := voiceOf(t.Role, t.Speaker)
			if err != nil {
				return fmt.Errorf("%s, turn %s: %w", name, t.ID, err)
			}
			session.Turns = append(session.Turns, memory.Turn{
				ID: t.ID, SessionID: name, Speaker: speaker, Role: role, Text: t.Text, Caption: t.Caption,
				Time: began.Add(time.Duration(i) * time.Second),
			})
		}
		s.sessions = append(s.sessions, session)
	}
	return nil
}

func (s *locomoSample) date(session string) (time.Time, error) {
	var text string
	if err := json.Unmarshal(s.Conversation[session+"_date_time"], &text); err != nil {
		return time.Time{}, fmt.Errorf("%s_date_time: want a text: %w", session, err)
	}
	t, err := time.Parse(locomoTime, strings.ToLower(strings.TrimSpace(text)))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s_date_time: want a time like 1:56 pm on 8 May, 2023: %w", session, err)
	}
	return t, nil
}

// ReadLoCoMo reads LoCoMo with its questions. It reads sample_id, the conversation, and of qa the fields question,
// answer, evidence and category. It skips event_summary and session_summary.
//
// Adversarial questions are Unanswerable. They ask about the wrong speaker, and their evidence is a turn of the other
// speaker. Their adversarial_answer is wrong and is skipped. Two of these questions also have an answer, which is kept.
func ReadLoCoMo(r io.Reader, o ReadOptions) ([]Subject, Repairs, error) {
	samples, err := decodeLoCoMo(plain(r))
	if err != nil {
		return nil, Repairs{}, err
	}
	repairs := Repairs{}
	subjects := make([]Subject, 0, len(samples))
	seen := map[string]bool{}
	for _, s := range samples {
		if seen[s.ID] {
			return nil, Repairs{}, fmt.Errorf("%w: sample %s is repeated", ErrFormat, s.ID)
		}
		seen[s.ID] = true
		subject := Subject{Scope: o.scope(s.ID), Sessions: s.sessions}
		if subject.Questions, err = s.questions(subject.TurnIDs(), &repairs); err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: sample %s: %w", ErrFormat, s.ID, err)
		}
		subjects = append(subjects, subject)
	}
	return subjects, repairs, nil
}

func (s *locomoSample) questions(known map[string]bool, repairs *Repairs) ([]Question, error) {
	var written []struct {
		Question string          `json:"question"`
		Answer   json.RawMessage `json:"answer"`
		Evidence []string        `json:"evidence"`
		Category int             `json:"category"`
	}
	if s.QA == nil {
		return nil, nil
	}
	if err := json.Unmarshal(s.QA, &written); err != nil {
		return nil, fmt.Errorf("qa: %w", err)
	}
	var out []Question
	for i, qa := range written {
		q := Question{Text: qa.Question, Answer: plainAnswer(qa.Answer)}
		if qa.Category < 1 || qa.Category > len(locomoCategories) {
			return nil, fmt.Errorf("qa %d: category is %d, want 1 to %d", i, qa.Category, len(locomoCategories))
		}
		q.Category = locomoCategories[qa.Category-1]
		q.SingleHop, q.Unanswerable = q.Category == "single-hop", q.Category == "adversarial"
		if err := q.check(); err != nil {
			return nil, fmt.Errorf("qa %d: %w", i, err)
		}
		counted := Repairs{}
		for _, id := range qa.Evidence {
			q.Evidence = append(q.Evidence, repair(id, known, &counted)...)
		}
		if q.Unanswerable {
			repairs.Unanswerable += counted.Repaired + counted.Dropped
		} else {
			repairs.Repaired, repairs.Dropped = repairs.Repaired+counted.Repaired, repairs.Dropped+counted.Dropped
		}
		out = append(out, q)
	}
	return out, nil
}

// check returns an error if the question lacks a field that every format requires.
func (q Question) check() error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return errors.New("question is missing")
	case q.Answer == "" && !q.Unanswerable:
		return errors.New("answer is missing")
	}
	return nil
}

// plainAnswer returns a JSON answer as text, because some answers are numbers. A missing or null answer is empty.
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

// evidenceID matches a turn's id, also with small mistakes: "D8:6; D9:17", "D:11:26", "D30:05".
var evidenceID = regexp.MustCompile(`D:?(\d+):(\d+)`)

// repair returns the turns that evidence names, and counts repaired and dropped names.
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
			repairs.Repaired++
		}
		out = append(out, id)
	}
	if len(out) == 0 && !evidenceID.MatchString(written) {
		repairs.Dropped++
	}
	return out
}

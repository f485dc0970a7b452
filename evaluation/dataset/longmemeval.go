package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// abstention is the id suffix of LongMemEval's unanswerable questions.
const abstention = "_abs"

type longMemEvalItem struct {
	ID             string              `json:"question_id"`
	Type           string              `json:"question_type"`
	Question       string              `json:"question"`
	Answer         json.RawMessage     `json:"answer"`
	Date           string              `json:"question_date"`
	SessionIDs     []string            `json:"haystack_session_ids"`
	Dates          []string            `json:"haystack_dates"`
	Sessions       [][]longMemEvalTurn `json:"haystack_sessions"`
	AnswerSessions []string            `json:"answer_session_ids"`
}

type longMemEvalTurn struct {
	Role      string  `json:"role"`
	Content   *string `json:"content"`
	HasAnswer bool    `json:"has_answer"`
}

// ReadLongMemEval reads LongMemEval (Wu et al., ICLR 2025; github.com/xiaowu0162/LongMemEval). Its README names the
// fields, and its data/custom_history shows the form of the dates.
//
// It reads all fields of a question. They are question_id, question_type, question, answer, question_date and
// answer_session_ids, and haystack_session_ids, haystack_dates and haystack_sessions. Each turn of haystack_sessions
// has role, content and has_answer. All fields are required except has_answer, which marks a turn as evidence.
//
// Each question is a separate user with the name question_id, because each question has a separate history. The same
// session may be in many histories. Sessions are sorted by date; the oracle file has another order. A turn is named
// "SESSIONID:index" by its place in the session, from 0. The released files have histories that contain a session
// twice, with two dates. The second session of an id, in the file's order, is named "SESSIONID#2", and Repairs counts
// it.
//
// A question whose id ends in _abs is Unanswerable. Each question is asked after all of its sessions. If a session is
// dated after question_date, AskedAt is the end of that session, and Repairs counts it as Late.
func ReadLongMemEval(r io.Reader, o ReadOptions) ([]Subject, Repairs, error) {
	fail := func(n int, id string, err error) ([]Subject, Repairs, error) {
		return nil, Repairs{}, fmt.Errorf("%w: LongMemEval question %d (%q): %w", ErrFormat, n, id, err)
	}
	d := json.NewDecoder(plain(r))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return fail(0, "", errors.New("want a JSON list of questions"))
	}
	var out []Subject
	repairs := Repairs{}
	seen := map[string]bool{}
	n := 0
	for ; d.More(); n++ {
		var item longMemEvalItem
		if err := d.Decode(&item); err != nil {
			return fail(n, item.ID, err)
		}
		if err := item.check(); err != nil {
			return fail(n, item.ID, err)
		}
		if seen[item.ID] {
			return fail(n, item.ID, errors.New("question_id is repeated"))
		}
		seen[item.ID] = true
		s, err := item.subject(o, &repairs)
		if err != nil {
			return fail(n, item.ID, err)
		}
		out = append(out, s)
	}
	if _, err := d.Token(); err != nil {
		return fail(n, "", err)
	}
	return out, repairs, nil
}

func (q longMemEvalItem) check() error {
	for _, field := range []struct {
		name string
		ok   bool
	}{
		{"question_id", strings.TrimSpace(q.ID) != ""},
		{"question_type", q.Type != ""},
		{"question", strings.TrimSpace(q.Question) != ""},
		{"answer", plainAnswer(q.Answer) != ""},
		{"question_date", q.Date != ""},
		{"haystack_session_ids", q.SessionIDs != nil},
		{"haystack_dates", q.Dates != nil},
		{"haystack_sessions", q.Sessions != nil},
		{"answer_session_ids", q.AnswerSessions != nil},
	} {
		if !field.ok {
			return fmt.Errorf("%s is missing", field.name)
		}
	}
	if len(q.SessionIDs) != len(q.Sessions) || len(q.Dates) != len(q.Sessions) {
		return fmt.Errorf("has %d haystack_sessions, %d haystack_session_ids and %d haystack_dates, want as many of each",
			len(q.Sessions), len(q.SessionIDs), len(q.Dates))
	}
	return nil
}

func (q longMemEvalItem) subject(o ReadOptions, repairs *Repairs) (Subject, error) {
	out := Subject{Scope: o.scope(q.ID)}
	asked, err := longMemEvalTime(q.Date)
	if err != nil {
		return out, fmt.Errorf("question_date: %w", err)
	}
	ask := Question{
		Text: q.Question, Category: q.Type, Answer: plainAnswer(q.Answer), AskedAt: asked,
		Unanswerable: strings.HasSuffix(q.ID, abstention),
	}
	names := q.names(repairs)
	for i, turns := range q.Sessions {
		at, err := longMemEvalTime(q.Dates[i])
		if err != nil {
			return out, fmt.Errorf("haystack_dates %d: %w", i, err)
		}
		s := Session{User: q.ID, ID: names[i]}
		evidence, err := addTurns(&s, turns, at, repairs)
		if err != nil {
			return out, fmt.Errorf("session %s: %w", q.SessionIDs[i], err)
		}
		if len(s.Turns) == 0 {
			continue // an empty turn gives no memory
		}
		if at.After(asked) {
			repairs.Late++
		}
		ask.Evidence = append(ask.Evidence, evidence...)
		if slices.Contains(q.AnswerSessions, q.SessionIDs[i]) {
			ask.EvidenceSessions = append(ask.EvidenceSessions, s.ID)
		}
		out.Sessions = append(out.Sessions, s)
	}
	for _, id := range q.AnswerSessions {
		if !slices.Contains(q.SessionIDs, id) {
			repairs.Dropped++
		}
	}
	slices.SortStableFunc(out.Sessions, func(a, b Session) int { return a.Turns[0].Time.Compare(b.Turns[0].Time) })
	ask.AskedAt = afterAll(out.Sessions, asked)
	ask.SingleHop = len(ask.Evidence) == 1 && !ask.Unanswerable &&
		(q.Type == "single-session-user" || q.Type == "single-session-assistant")
	out.Questions = []Question{ask}
	return out, nil
}

// afterAll returns the time of a question about all sessions: then, or the end of the last session if that is later.
func afterAll(sessions []Session, then time.Time) time.Time {
	for _, s := range sessions {
		if s.End().After(then) {
			then = s.End()
		}
	}
	return then
}

// names gives each session a unique name: its id, with a number if the id has occurred before.
func (q longMemEvalItem) names(repairs *Repairs) []string {
	out := make([]string, len(q.SessionIDs))
	taken := map[string]bool{}
	for _, id := range q.SessionIDs {
		taken[id] = true
	}
	count := map[string]int{}
	for i, id := range q.SessionIDs {
		out[i] = id
		count[id]++
		if count[id] == 1 {
			continue
		}
		for n := count[id]; taken[out[i]]; n++ {
			out[i] = id + "#" + strconv.Itoa(n)
		}
		taken[out[i]] = true
		repairs.Renamed++
	}
	return out
}

// addTurns appends turns and returns the ids of the evidence turns. All turns of a session share its date, so each
// turn is placed one second after the previous one.
func addTurns(s *Session, turns []longMemEvalTurn, at time.Time, repairs *Repairs) ([]string, error) {
	if strings.TrimSpace(s.ID) == "" {
		return nil, errors.New("its id is empty")
	}
	var evidence []string
	for i, t := range turns {
		role, speaker, err := roleOf(t.Role)
		switch {
		case err != nil:
			return nil, fmt.Errorf("turn %d: %w", i, err)
		case t.Content == nil:
			return nil, fmt.Errorf("turn %d: content is missing", i)
		case strings.TrimSpace(*t.Content) == "":
			repairs.Empty++
			continue
		}
		id := s.ID + ":" + strconv.Itoa(i)
		s.Turns = append(s.Turns, memory.Turn{
			ID: id, SessionID: s.ID, Speaker: speaker, Role: role, Text: *t.Content,
			Time: at.Add(time.Duration(i) * time.Second),
		})
		if t.HasAnswer {
			evidence = append(evidence, id)
		}
	}
	return evidence, nil
}

// longMemEvalTime reads "2023/05/20 (Sat) 02:21". A question may have only a day, which means the start of the day.
func longMemEvalTime(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if t, err := time.Parse("2006/01/02 (Mon) 15:04", text); err == nil {
		return t, nil
	}
	t, err := time.Parse("2006/01/02", text)
	if err != nil {
		return t, fmt.Errorf("is %q, want a time like 2023/05/20 (Sat) 02:21", text)
	}
	return t, nil
}

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

// haluMemTime is HaluMem's time format: "Dec 15, 2025, 06:11:23".
const haluMemTime = "Jan 2, 2006, 15:04:05"

// haluMemBoundary is the type of HaluMem's unanswerable questions. No memory point answers them.
const haluMemBoundary = "Memory Boundary"

type haluMemUser struct {
	ID       string           `json:"uuid"`
	Sessions []haluMemSession `json:"sessions"`
}

type haluMemSession struct {
	Start        string            `json:"start_time"`
	End          string            `json:"end_time"`
	Dialogue     []haluMemTurn     `json:"dialogue"`
	MemoryPoints []haluMemPoint    `json:"memory_points"`
	Questions    []haluMemQuestion `json:"questions"`
}

type haluMemTurn struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	Time    string  `json:"timestamp"`
}

type haluMemPoint struct {
	Content string `json:"memory_content"`
}

type haluMemQuestion struct {
	Question string          `json:"question"`
	Answer   json.RawMessage `json:"answer"`
	Evidence []haluMemPoint  `json:"evidence"`
	Type     string          `json:"question_type"`
}

// ReadHaluMem reads HaluMem (Chen et al., 2025; github.com/MemTensor/HaluMem: its README and the scripts of its stage
// 6, which write the files). The file holds JSON lines of users.
//
// It reads a user's uuid and sessions. Of a session it reads start_time, end_time, dialogue, memory_content of
// memory_points, and questions. Of a turn in dialogue it reads role, content and timestamp. Of a question it reads
// question, answer, evidence and question_type. A session may lack memory_points and questions, as the distractions
// in the long version do. It skips persona_info, because this field states the facts to remember.
//
// Sessions are named s1, s2 and so on by their place in the file, and are sorted by start_time. In the long version,
// the place of a distraction in the file is unrelated to its time. A turn is named "SESSION:INDEX" by its place in the
// dialogue, from 0. In the file, an answer has the same time as its question, so ReadHaluMem moves it one second later.
//
// A question is asked at the end of its session, and AskedAt holds this time. Evidence is a list of memory points,
// not of turns. EvidenceSessions are the sessions up to the question's session that have such a point. Questions of
// the type "Memory Boundary" are Unanswerable and have no evidence. The right answer to a "Memory Conflict" question
// corrects the question's assumption.
func ReadHaluMem(r io.Reader, o ReadOptions) ([]Subject, Repairs, error) {
	d := json.NewDecoder(plain(r))
	var out []Subject
	repairs := Repairs{}
	seen := map[string]bool{}
	for n := 1; ; n++ {
		var user haluMemUser
		err := d.Decode(&user)
		if errors.Is(err, io.EOF) && n > 1 {
			return out, repairs, nil
		}
		var s Subject
		switch {
		case errors.Is(err, io.EOF):
			err = errors.New("the file is empty")
		case err != nil:
		case strings.TrimSpace(user.ID) == "":
			err = errors.New("uuid is missing")
		case user.Sessions == nil:
			err = errors.New("sessions is missing")
		case seen[user.ID]:
			err = errors.New("uuid is repeated")
		default:
			s, err = user.subject(o, &repairs)
		}
		if err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: HaluMem user %d (%q): %w", ErrFormat, n, user.ID, err)
		}
		seen[user.ID] = true
		out = append(out, s)
	}
}

func (u haluMemUser) subject(o ReadOptions, repairs *Repairs) (Subject, error) {
	out := Subject{Scope: o.scope(u.ID)}
	points := map[string][]int{} // sessions by memory point
	for i, s := range u.Sessions {
		for _, p := range s.MemoryPoints {
			points[p.Content] = append(points[p.Content], i)
		}
	}
	began := map[string]time.Time{}
	for i, written := range u.Sessions {
		name := sessionName(i)
		s, start, err := written.session(name, repairs)
		if err != nil {
			return out, fmt.Errorf("session %d: %w", i, err)
		}
		began[name], s.User = start, u.ID
		for k, q := range written.Questions {
			ask, err := q.question()
			if err != nil {
				return out, fmt.Errorf("session %d: question %d: %w", i, k, err)
			}
			ask.AskedAt = s.ClosedAt
			ask.EvidenceSessions = q.sessions(points, i, repairs)
			out.Questions = append(out.Questions, ask)
		}
		if len(s.Turns) > 0 {
			out.Sessions = append(out.Sessions, s)
		}
	}
	slices.SortStableFunc(out.Sessions, func(a, b Session) int { return began[a.ID].Compare(began[b.ID]) })
	slices.SortStableFunc(out.Questions, func(a, b Question) int { return a.AskedAt.Compare(b.AskedAt) })
	return out, nil
}

func sessionName(place int) string { return "s" + strconv.Itoa(place+1) }

// session returns a session and its start.
func (w haluMemSession) session(name string, repairs *Repairs) (Session, time.Time, error) {
	out := Session{ID: name}
	start, err := haluMemParse("start_time", w.Start)
	if err != nil {
		return out, start, err
	}
	if out.ClosedAt, err = haluMemParse("end_time", w.End); err != nil {
		return out, start, err
	}
	if w.Dialogue == nil {
		return out, start, errors.New("dialogue is missing")
	}
	var last time.Time
	for i, t := range w.Dialogue {
		at, err := haluMemParse("timestamp", t.Time)
		if err != nil {
			return out, start, fmt.Errorf("turn %d: %w", i, err)
		}
		role, speaker, err := roleOf(t.Role)
		switch {
		case err != nil:
			return out, start, fmt.Errorf("turn %d: %w", i, err)
		case t.Content == nil:
			return out, start, fmt.Errorf("turn %d: content is missing", i)
		case strings.TrimSpace(*t.Content) == "":
			repairs.Empty++
			continue
		}
		if !at.After(last) {
			at = last.Add(time.Second)
		}
		last = at
		out.Turns = append(out.Turns, memory.Turn{
			ID: name + ":" + strconv.Itoa(i), SessionID: name, Speaker: speaker, Role: role, Text: *t.Content, Time: at,
		})
	}
	if !out.ClosedAt.After(last) {
		out.ClosedAt = last.Add(time.Second)
	}
	return out, start, nil
}

func (q haluMemQuestion) question() (Question, error) {
	out := Question{Text: q.Question, Category: q.Type, Answer: plainAnswer(q.Answer),
		Unanswerable: q.Type == haluMemBoundary}
	switch {
	case strings.TrimSpace(out.Text) == "":
		return out, errors.New("question is missing")
	case out.Answer == "":
		return out, errors.New("answer is missing")
	case out.Category == "":
		return out, errors.New("question_type is missing")
	case q.Evidence == nil:
		return out, errors.New("evidence is missing")
	}
	return out, nil
}

// sessions returns the sessions with a point of the evidence, up to the question's own session, in the file's order.
func (q haluMemQuestion) sessions(points map[string][]int, own int, repairs *Repairs) []string {
	var places []int
	for _, e := range q.Evidence {
		before := len(places)
		for _, place := range points[e.Content] {
			if place <= own {
				places = append(places, place)
			}
		}
		if len(places) == before {
			repairs.Dropped++
		}
	}
	slices.Sort(places)
	var out []string
	for _, place := range slices.Compact(places) {
		out = append(out, sessionName(place))
	}
	return out
}

func haluMemParse(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, fmt.Errorf("%s is missing", field)
	}
	t, err := time.Parse(haluMemTime, strings.TrimSpace(text))
	if err != nil {
		return t, fmt.Errorf("%s: is %q, want a time like Dec 15, 2025, 06:11:23", field, text)
	}
	return t, nil
}

package dataset

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Columns of PersonaMem's questions. Early files name columnText as columnTextOnce.
const (
	columnType     = "question_type"
	columnText     = "user_question_or_message"
	columnTextOnce = "question"
	columnAnswer   = "correct_answer"
	columnOptions  = "all_options"
	columnContext  = "shared_context_id"
	columnEnd      = "end_index_in_shared_context"
)

// ReadPersonaMem reads PersonaMem (Jiang et al., 2025; github.com/bowen-upenn/PersonaMem). It follows the
// repository's inference_standalone_openai.py and baselines/data_loader.py.
//
// The questions are a table with a header. The required columns are question_type, correct_answer, all_options,
// shared_context_id and end_index_in_shared_context. The column user_question_or_message is also required; early
// files name it question. The contexts are JSON lines. Each line is an object that maps ids to lists of messages with
// role and content.
//
// A question is asked after the first end_index_in_shared_context messages of its context. So each pair of a context
// and an end is a separate user with the name "CONTEXT@END" and with those messages only. The users of one context
// share its turns in memory. A question with a negative end, as in the 128k file, is skipped and counted.
//
// A system message begins a session. It states the persona, which answers the questions without any memory, so it is
// not read as a turn. Sessions are named s1, s2 and so on. A turn is named "SESSION:INDEX" by its place among the
// messages of the context, from 0. The prefixes "User:" and "Assistant:" are removed from the texts. Early files have
// other names, such as "Patient:", which stay. The files have no dates: see ReadOptions.Began. Questions name no
// evidence.
func ReadPersonaMem(questions, contexts io.Reader, o ReadOptions) ([]Subject, Repairs, error) {
	rows, err := personaMemRows(questions)
	if err != nil {
		return nil, Repairs{}, fmt.Errorf("%w: PersonaMem questions: %w", ErrFormat, err)
	}
	wanted := map[string]*personaMemContext{}
	for _, r := range rows {
		wanted[r.context] = nil
	}
	repairs := Repairs{}
	if err := readContexts(contexts, wanted, o, &repairs); err != nil {
		return nil, Repairs{}, fmt.Errorf("%w: PersonaMem contexts: %w", ErrFormat, err)
	}
	var out []Subject
	place := map[string]int{}
	for _, r := range rows {
		context := wanted[r.context]
		if context == nil {
			return nil, Repairs{}, fmt.Errorf("%w: PersonaMem questions: line %d: there is no context %q", ErrFormat, r.line,
				r.context)
		}
		end, ok := context.end(r.end, &repairs)
		if !ok {
			continue
		}
		user := r.context + "@" + strconv.Itoa(end)
		i, ok := place[user]
		if !ok {
			i, place[user] = len(out), len(out)
			out = append(out, Subject{Scope: o.scope(user), Sessions: context.until(user, end)})
		}
		out[i].Questions = append(out[i].Questions, r.question)
	}
	return out, repairs, nil
}

type personaMemRow struct {
	line     int
	context  string
	end      int
	question Question
}

func personaMemRows(r io.Reader) ([]personaMemRow, error) {
	b := plain(r)
	if _, err := firstByte(b); err != nil {
		return nil, err
	}
	table := csv.NewReader(b)
	header, err := table.Read()
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	column := map[string]int{}
	for i, name := range header {
		column[strings.TrimSpace(name)] = i
	}
	if i, ok := column[columnTextOnce]; ok && !hasColumn(column, columnText) {
		column[columnText] = i
	}
	for _, name := range []string{columnType, columnText, columnAnswer, columnOptions, columnContext, columnEnd} {
		if !hasColumn(column, name) {
			return nil, fmt.Errorf("header: column %s is missing", name)
		}
	}
	var out []personaMemRow
	for {
		cells, err := table.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err // the error names the line
		}
		line, _ := table.FieldPos(0)
		row, err := parsePersonaMemRow(cells, column)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		row.line = line
		out = append(out, row)
	}
}

func hasColumn(column map[string]int, name string) bool {
	_, ok := column[name]
	return ok
}

func parsePersonaMemRow(cells []string, column map[string]int) (personaMemRow, error) {
	cell := func(name string) string { return strings.TrimSpace(cells[column[name]]) }
	for _, name := range []string{columnType, columnText, columnAnswer, columnOptions, columnContext, columnEnd} {
		if cell(name) == "" {
			return personaMemRow{}, fmt.Errorf("%s is missing", name)
		}
	}
	end, err := strconv.Atoi(cell(columnEnd))
	if err != nil {
		return personaMemRow{}, fmt.Errorf("%s: want a whole number: %w", columnEnd, err)
	}
	options, answer, err := choice(cell(columnOptions), cell(columnAnswer))
	if err != nil {
		return personaMemRow{}, err
	}
	return personaMemRow{context: cell(columnContext), end: end, question: Question{
		Text: cell(columnText), Category: cell(columnType), Answer: answer, Options: options,
	}}, nil
}

// personaMemContext is a list of messages, split into sessions.
type personaMemContext struct {
	messages int
	sessions []Session
	// places are the places of the sessions' turns among the messages.
	places [][]int
}

type personaMemMessage struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
}

// readContexts reads the wanted contexts.
func readContexts(r io.Reader, wanted map[string]*personaMemContext, o ReadOptions, repairs *Repairs) error {
	d := json.NewDecoder(plain(r))
	for n := 1; ; n++ {
		var object map[string]json.RawMessage
		err := d.Decode(&object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("object %d: want a context's id and its messages: %w", n, err)
		}
		for id, raw := range object {
			before, ok := wanted[id]
			if !ok {
				continue
			}
			if before != nil {
				return fmt.Errorf("object %d: context %q is repeated", n, id)
			}
			if wanted[id], err = newPersonaMemContext(raw, o, repairs); err != nil {
				return fmt.Errorf("object %d: context %q: %w", n, id, err)
			}
		}
	}
}

func newPersonaMemContext(raw json.RawMessage, o ReadOptions, repairs *Repairs) (*personaMemContext, error) {
	var messages []personaMemMessage
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, fmt.Errorf("want a list of messages: %w", err)
	}
	out := &personaMemContext{messages: len(messages)}
	for i, m := range messages {
		switch {
		case m.Content == nil:
			return nil, fmt.Errorf("message %d: content is missing", i)
		case strings.EqualFold(m.Role, "system"):
			out.begin()
			continue
		}
		role, speaker, err := roleOf(m.Role)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		text := withoutSpeaker(*m.Content, m.Role)
		if text == "" {
			repairs.Empty++
			continue
		}
		if len(out.sessions) == 0 {
			out.begin()
		}
		out.add(i, memory.Turn{Speaker: speaker, Role: role, Text: text}, o)
	}
	return out, nil
}

// begin starts a session, unless the last one has no turns yet.
func (c *personaMemContext) begin() {
	if n := len(c.sessions); n > 0 && len(c.sessions[n-1].Turns) == 0 {
		return
	}
	c.sessions = append(c.sessions, Session{ID: "s" + strconv.Itoa(len(c.sessions)+1)})
	c.places = append(c.places, nil)
}

func (c *personaMemContext) add(place int, t memory.Turn, o ReadOptions) {
	n := len(c.sessions) - 1
	s := &c.sessions[n]
	t.SessionID, t.ID = s.ID, s.ID+":"+strconv.Itoa(place)
	t.Time = o.began().AddDate(0, 0, n).Add(time.Duration(len(s.Turns)) * time.Second)
	s.Turns = append(s.Turns, t)
	c.places[n] = append(c.places[n], place)
}

// end returns the number of messages before the question. ok is false if the question has no valid place.
func (c *personaMemContext) end(written int, repairs *Repairs) (int, bool) {
	switch {
	case written < 0:
		repairs.Unasked++
		return 0, false
	case written > c.messages:
		repairs.Repaired++
		return c.messages, true
	}
	return written, true
}

// until returns the messages before an end, as sessions of a user.
func (c *personaMemContext) until(user string, end int) []Session {
	var out []Session
	for i, s := range c.sessions {
		n := 0
		for n < len(s.Turns) && c.places[i][n] < end {
			n++
		}
		if n == 0 {
			break
		}
		s.User, s.Turns = user, s.Turns[:n:n]
		out = append(out, s)
	}
	return out
}

// withoutSpeaker removes the role's name from a text, as in "User: Hello".
func withoutSpeaker(text, role string) string {
	text = strings.TrimSpace(text)
	if n := len(role) + 1; len(text) >= n && strings.EqualFold(text[:n], role+":") {
		return strings.TrimSpace(text[n:])
	}
	return text
}

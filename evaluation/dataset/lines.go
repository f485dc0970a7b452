package dataset

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/shared/memory"
)

// maxLine limits a line in bytes. The longest turn fits with every character escaped.
const maxLine = 4 << 20

// Line is one line of a JSON-lines file: a turn, or the end of a session if Closed is set.
type Line struct {
	// User and Session name the conversation.
	User    string `json:"user_id"`
	Session string `json:"session_id"`
	// Turn is the turn's id, unique per user, not per session. A repeated line, as in a redelivery, counts once. Read
	// refuses an id that comes again with another session or text. An empty id is derived from session, time, speaker
	// and text. So the same turn gets the same id in every file, and another turn gets another id.
	Turn string `json:"turn_id,omitempty"`
	// Speaker is the speaker's name; empty means the role.
	Speaker string `json:"speaker,omitempty"`
	// Role is user, assistant or tool, in any letter case. If it is empty, a speaker with the name of a role has this
	// role; any other speaker is a user. Read skips lines of the roles system, developer and function.
	Role string `json:"role,omitempty"`
	// Text is the text of the turn. Without one, the caption is the text. Read skips a line without either.
	Text string `json:"text,omitempty"`
	// Caption describes an attached image.
	Caption string `json:"caption,omitempty"`
	// Metadata is a JSON object of the caller's own. AgentID, AppID and RunID name the turn's agent, application and
	// run.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	AgentID  string          `json:"agent_id,omitempty"`
	AppID    string          `json:"app_id,omitempty"`
	RunID    string          `json:"run_id,omitempty"`
	// Time is in RFC 3339. Days in words ("tomorrow") count from its day in its offset.
	Time time.Time `json:"time"`
	// Closed ends the session at Time; such a line has no text. A file may omit these lines.
	Closed bool `json:"closed,omitempty"`
}

// saidAt is a turn with its line number.
type saidAt struct {
	line int
	memory.Turn
}

func readLines(r io.Reader) ([]Session, Repairs, error) {
	var repairs Repairs
	var out []Session
	at := map[[2]string]int{}
	said := map[[2]string]saidAt{}
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; scan.Scan(); n++ {
		raw := bytes.TrimSpace(scan.Bytes())
		if len(raw) == 0 {
			continue
		}
		l, err := parseLine(raw)
		if err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: line %d: %w", ErrFormat, n, err)
		}
		switch {
		case l.Closed:
		case chat.NotRemembered(memory.Role(l.Role)) != "" && l.Role != string(memory.RoleTool):
			repairs.Silent++
			continue
		case strings.TrimSpace(l.Text) == "":
			repairs.Empty++
			continue
		}
		key := [2]string{l.User, l.Session}
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, Session{User: l.User, ID: l.Session})
		}
		if l.Closed {
			out[i].ClosedAt = l.Time.UTC()
			continue
		}
		t, err := l.turn()
		if err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: line %d: %w", ErrFormat, n, err)
		}
		first, again := said[[2]string{l.User, t.ID}]
		switch {
		case !again:
			said[[2]string{l.User, t.ID}] = saidAt{n, t}
			out[i].Turns = append(out[i].Turns, t)
		case !first.SameAs(t):
			return nil, Repairs{}, fmt.Errorf(
				"%w: line %d: turn_id is %q, as in line %d with another session or text, want ids that are unique per user",
				ErrFormat, n, t.ID, first.line)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, Repairs{}, fmt.Errorf("read conversation file: %w", err)
	}
	return out, repairs, nil
}

func parseLine(raw []byte) (Line, error) {
	var l Line
	if !utf8.Valid(raw) {
		return l, errors.New("is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&l)
	if wrong := (*time.ParseError)(nil); errors.As(err, &wrong) {
		return l, fmt.Errorf("time is %.40s, want RFC 3339, such as 2026-03-01T10:00:00Z", strings.Trim(wrong.Value, `\"`))
	}
	if err != nil {
		return l, fmt.Errorf("want a JSON object of user_id, session_id, speaker, role, text, time: %w", err)
	}
	if dec.More() {
		return l, fmt.Errorf("has more than one JSON value")
	}
	missing := func(name string) error { return fmt.Errorf("%s is missing", name) }
	switch {
	case strings.TrimSpace(l.User) == "":
		return l, missing("user_id")
	case strings.TrimSpace(l.Session) == "":
		return l, missing("session_id")
	case l.Time.IsZero():
		return l, missing("time")
	case l.Closed && l.Text != "":
		return l, fmt.Errorf("has closed and text, want one of them")
	}
	if strings.TrimSpace(l.Text) == "" {
		l.Text, l.Caption = l.Caption, ""
	}
	name := strings.ToLower(strings.TrimSpace(l.Role))
	if chat.NotRemembered(memory.Role(name)) != "" && name != string(memory.RoleTool) {
		l.Role = name
		return l, nil
	}
	role, speaker, err := voiceOf(l.Role, l.Speaker)
	l.Role, l.Speaker = string(role), speaker
	return l, err
}

// turnID derives an id from the turn's contents.
func turnID(t memory.Turn) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%q\n%q\n%q", t.Time.UTC().Format(time.RFC3339Nano), t.Speaker, t.Text,
		t.Caption))
	return fmt.Sprintf("%s:%x", t.SessionID, sum[:6])
}

// turn returns the turn of a line that ends no session.
func (l Line) turn() (memory.Turn, error) {
	t := memory.Turn{
		ID: l.Turn, SessionID: l.Session, Speaker: l.Speaker, Role: memory.Role(l.Role),
		Text: l.Text, Caption: l.Caption, Time: l.Time,
		Attributes: memory.Attributes{AgentID: l.AgentID, AppID: l.AppID, RunID: l.RunID},
	}
	if t.ID == "" {
		t.ID = turnID(t)
	}
	if len(l.Metadata) == 0 {
		return t, nil
	}
	var err error
	t.Metadata, err = memory.ParseMetadata("metadata", l.Metadata)
	return t, err
}

// roleOf reads a role in any letter case and returns the default name of its speaker. A tool's text must never count
// as the user's own words, and turns have no role for tools. So a tool's turn has the assistant's role and the
// speaker "tool".
func roleOf(name string) (role memory.Role, speaker string, err error) {
	switch role := memory.Role(strings.ToLower(strings.TrimSpace(name))); role {
	case memory.RoleUser, memory.RoleAssistant:
		return role, string(role), nil
	case memory.RoleTool:
		return memory.RoleAssistant, string(role), nil
	case "":
		return "", "", errors.New("role is missing")
	}
	return "", "", fmt.Errorf("role is %q, want user, assistant or tool", name)
}

// voiceOf returns the role and the speaker of a turn. If the turn has no role, a speaker with the name of a role has
// this role; any other speaker is a user. A tool's speaker is always "tool", so a tool never has a person's name.
func voiceOf(role, speaker string) (memory.Role, string, error) {
	if role == "" {
		role = string(memory.RoleUser)
		if _, called, err := roleOf(speaker); err == nil {
			role = called
		}
	}
	r, called, err := roleOf(role)
	if speaker == "" || called == string(memory.RoleTool) {
		speaker = called
	}
	return r, speaker, err
}

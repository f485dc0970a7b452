package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/shared/memory"
)

// exported is a message of a chat export.
type exported struct {
	role memory.Role
	text string
	time time.Time
}

// conversation is a conversation of a chat export. Its id is empty if the export has none.
type conversation struct {
	id       string
	began    time.Time
	messages []exported
}

// exports reads the conversations of a chat export: a list, or one conversation after the other. A list of messages is
// one conversation.
type exports struct {
	options  ReadOptions
	repairs  Repairs
	sessions []Session
}

// readExport reads a chat export. It holds one conversation besides the result.
func readExport(r io.Reader, f format, o ReadOptions) ([]Session, Repairs, error) {
	if o.User == "" {
		return nil, Repairs{}, fmt.Errorf("%w: it is %s, which names no user: pass the user", ErrFormat, f)
	}
	e := exports{options: o}
	b := plain(r)
	first, err := firstByte(b)
	if err != nil {
		return nil, Repairs{}, err
	}
	d := json.NewDecoder(b)
	if first == '[' {
		if _, err := d.Token(); err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	var list []json.RawMessage
	for n := 0; d.More(); n++ {
		var raw json.RawMessage
		err := d.Decode(&raw)
		switch {
		case err != nil:
		case f == formatMessages && first == '[':
			list = append(list, raw)
		default:
			err = e.add(f, raw)
		}
		if err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: item %d of %s: %w", ErrFormat, n, f, err)
		}
	}
	if first == '[' {
		if _, err := d.Token(); err != nil { // the end of the list
			return nil, Repairs{}, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	if len(list) > 0 {
		if err := e.addMessages(list); err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: %s: %w", ErrFormat, f, err)
		}
	}
	return e.sessions, e.repairs, nil
}

// add adds a conversation.
func (e *exports) add(f format, raw json.RawMessage) error {
	switch f {
	case formatChatGPT:
		return e.addChatGPT(raw)
	case formatClaude:
		return e.addClaude(raw)
	}
	var of struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(raw, &of); err != nil {
		return err
	}
	return e.addMessages(of.Messages)
}

// message is a message of chat completions, or of LangChain (type and data).
type message struct {
	Role         string   `json:"role"`
	Content      any      `json:"content"`
	Refusal      any      `json:"refusal"`
	ToolCalls    any      `json:"tool_calls"`
	FunctionCall any      `json:"function_call"`
	Type         string   `json:"type"`
	Data         *message `json:"data"`
}

// senders maps the names of roles in exports to roles.
var senders = map[string]memory.Role{
	"human": memory.RoleUser, "ai": memory.RoleAssistant, "model": memory.RoleAssistant, "humanmessage": memory.RoleUser,
	"aimessage": memory.RoleAssistant, "systemmessage": "system", "toolmessage": memory.RoleTool,
	"functionmessage": "function",
}

// said returns the message with its role and its text.
func (m message) said(at string) (exported, error) {
	name := strings.ToLower(cmp.Or(m.Role, m.Type))
	if m.Data != nil {
		m = *m.Data
	}
	role := cmp.Or(senders[name], memory.Role(name))
	if role != memory.RoleUser && role != memory.RoleAssistant && chat.NotRemembered(role) == "" {
		return exported{}, fmt.Errorf("%s.role is %.20q, want user, assistant, system, developer, tool or function", at, name)
	}
	read, err := chat.Read(chat.Message{
		Role: role, Content: m.Content, Refusal: m.Refusal, ToolCalls: m.ToolCalls, FunctionCall: m.FunctionCall,
	}, at)
	return exported{role: read.Role, text: read.Text}, err
}

// addMessages adds a list of messages as one conversation.
func (e *exports) addMessages(list []json.RawMessage) error {
	var c conversation
	for i, raw := range list {
		var m message
		at := fmt.Sprintf("messages[%d]", i)
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		said, err := m.said(at)
		if err != nil {
			return err
		}
		c.messages = append(c.messages, said)
	}
	e.addConversation(c)
	return nil
}

// addClaude adds a conversation of Claude's export.
func (e *exports) addClaude(raw json.RawMessage) error {
	var in struct {
		UUID     string    `json:"uuid"`
		Created  time.Time `json:"created_at"`
		Messages []struct {
			Sender  string    `json:"sender"`
			Text    string    `json:"text"`
			Content []any     `json:"content"`
			Created time.Time `json:"created_at"`
		} `json:"chat_messages"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	c := conversation{id: in.UUID, began: in.Created}
	for i, m := range in.Messages {
		said, err := message{Role: m.Sender, Content: m.Content}.said(fmt.Sprintf("chat_messages[%d]", i))
		if err != nil {
			return err
		}
		said.text, said.time = cmp.Or(said.text, m.Text), m.Created
		c.messages = append(c.messages, said)
	}
	e.addConversation(c)
	return nil
}

// node is a message in the tree of a conversation of ChatGPT's export.
type node struct {
	Parent   string   `json:"parent"`
	Children []string `json:"children"`
	Message  *struct {
		Author  struct{ Role string } `json:"author"`
		Created float64               `json:"create_time"`
		Content struct {
			Type  string `json:"content_type"`
			Parts []any  `json:"parts"`
		} `json:"content"`
	} `json:"message"`
}

// addChatGPT adds a conversation of ChatGPT's export: the branch of the tree that the user saw last.
func (e *exports) addChatGPT(raw json.RawMessage) error {
	var in struct {
		ID             string          `json:"id"`
		ConversationID string          `json:"conversation_id"`
		Created        float64         `json:"create_time"`
		Current        string          `json:"current_node"`
		Mapping        map[string]node `json:"mapping"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if _, ok := in.Mapping[in.Current]; !ok && len(in.Mapping) > 0 {
		return errors.New("current_node is not in mapping")
	}
	c := conversation{id: cmp.Or(in.ConversationID, in.ID), began: secondsOf(in.Created)}
	seen := map[string]bool{}
	for at := in.Current; at != "" && !seen[at]; at = in.Mapping[at].Parent {
		seen[at] = true
		if m := in.Mapping[at].Message; m != nil {
			said := exported{role: memory.Role(m.Author.Role), time: secondsOf(m.Created)}
			if m.Content.Type == "text" || m.Content.Type == "multimodal_text" {
				said.text = joined(m.Content.Parts)
			}
			c.messages = append(c.messages, said)
		}
	}
	slices.Reverse(c.messages)
	e.addConversation(c)
	return nil
}

// joined returns the texts among the parts of a message, one line each.
func joined(parts []any) string {
	var out []string
	for _, p := range parts {
		if s, ok := p.(string); ok && strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

// secondsOf returns the time of a number of seconds since 1970. It is zero for no number.
func secondsOf(seconds float64) time.Time {
	if seconds <= 0 || seconds > math.MaxInt32*2 {
		return time.Time{}
	}
	return time.UnixMilli(int64(seconds * 1000)).UTC()
}

// addConversation adds the messages of users and assistants as a session, and counts the others. A message without a
// time is one second after the message before it.
func (e *exports) addConversation(c conversation) {
	at := c.began
	if at.IsZero() {
		at = e.options.began().Add(time.Duration(len(e.sessions)) * time.Second)
	}
	s := Session{User: e.options.User, ID: c.id}
	for i, m := range c.messages {
		if !m.time.IsZero() {
			at = m.time.UTC()
		} else if i > 0 {
			at = at.Add(time.Second)
		}
		switch {
		case m.role != memory.RoleUser && m.role != memory.RoleAssistant:
			e.repairs.Silent++
		case strings.TrimSpace(m.text) == "":
			e.repairs.Empty++
		default:
			if s.ID == "" { // the same conversation has the same id when it is longer
				sum := sha256.Sum256([]byte(m.text))
				s.ID = fmt.Sprintf("chat-%x", sum[:6])
			}
			s.Turns = append(s.Turns, memory.Turn{
				ID: fmt.Sprintf("%s:%d", s.ID, i), SessionID: s.ID, Speaker: string(m.role), Role: m.role, Text: m.text, Time: at,
			})
		}
	}
	if len(s.Turns) > 0 {
		e.sessions = append(e.sessions, s)
	}
}

var (
	// whatsApp matches the date at the start of a line of a WhatsApp chat.
	whatsApp = regexp.MustCompile(`^\P{L}{0,3}\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? `)
	// slackTime matches the time of a message of Slack.
	slackTime = regexp.MustCompile(`"ts":\s*"\d+\.\d+"`)
)

// seeming names the format of a file that no reader takes, by its first bytes.
func seeming(head []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	switch {
	case whatsApp.Match(line):
		return "a WhatsApp chat"
	case bytes.HasPrefix(line, []byte("<")):
		return "HTML or XML"
	case bytes.HasPrefix(line, []byte("PK")):
		return "a ZIP archive: unpack it, and pass the file with the conversations"
	case slackTime.Match(line):
		return "a Slack export"
	case bytes.ContainsAny(line, ",;\t") && !bytes.HasPrefix(line, []byte("{")) && !bytes.HasPrefix(line, []byte("[")):
		return "a table such as CSV"
	}
	return "of an unknown format"
}

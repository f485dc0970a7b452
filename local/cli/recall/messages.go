package recall

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// maxMessagesFile limits the size of a file of messages, in bytes.
const maxMessagesFile = 4 << 20

// messagesFlag adds the flag for the conversation before the query.
func messagesFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "messages", "",
		"file with the previous messages, a JSON list as for chat completions; - reads standard input")
}

// setMessages reads the messages of a file into a request. Without a file the request has no messages.
func setMessages(req *mnemev1.RecallRequest, file string, stdin io.Reader) error {
	switch file {
	case "":
		return nil
	case "-":
		return readMessages(req, "standard input", stdin)
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return command.Usage(err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return readMessages(req, file, f)
}

// chatMessage is a message of chat completions, with its text fields only.
type chatMessage struct {
	Role    string      `json:"role"`
	Content chatContent `json:"content"`
}

// chatContent is a text, or the texts of a list of parts. Null means no text.
type chatContent string

// UnmarshalJSON implements json.Unmarshaler.
func (c *chatContent) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(c)) == nil {
		return nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(data, &parts) != nil {
		return errors.New(`content is neither a text nor a list of parts such as {"type":"text","text":"Hello"}`)
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	*c = chatContent(strings.Join(texts, "\n"))
	return nil
}

// readMessages drops messages that are no part of the conversation. These are instructions to the model, and messages
// without a text, such as calls of tools. The service checks the rest.
func readMessages(req *mnemev1.RecallRequest, name string, from io.Reader) error {
	var messages []json.RawMessage
	data, err := io.ReadAll(io.LimitReader(from, maxMessagesFile+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxMessagesFile {
		return command.Usage(fmt.Errorf("%s is longer than %d bytes", name, maxMessagesFile))
	}
	if err := json.Unmarshal(data, &messages); err != nil {
		return command.Usage(fmt.Errorf(`%s: want a JSON list such as [{"role":"user","content":"Hello"}]: %w`, name, err))
	}
	for i, one := range messages {
		var m chatMessage
		if err := json.Unmarshal(one, &m); err != nil {
			return command.Usage(fmt.Errorf("%s: messages[%d]: %w", name, i, err))
		}
		if m.Content != "" && m.Role != "system" && m.Role != "developer" {
			req.Messages = append(req.Messages, &mnemev1.Message{Role: m.Role, Content: string(m.Content)})
		}
	}
	return nil
}

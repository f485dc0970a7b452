package dataset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
)

// roleOf reads a role in any letter case, and how its turns' speaker is called where none is named. What a tool says is never the user's
// own word, and a turn has no such role: it is kept as the assistant's, with the speaker "tool".
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

// voiceOf is the role that a turn names, else that of what its speaker is called (somebody called assistant is one), else the user's; and
// its speaker. A tool's speaker is always "tool", whichever it is: no name of its can be that of a person.
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

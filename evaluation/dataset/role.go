package dataset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
)

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

package dataset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
)

// In both formats, letter case of the role does not matter; a missing role follows from the speaker's name. A tool's
// text never counts as the user's.
func TestRolesAreReadInAnyLetterCase(t *testing.T) {
	const lines = `{"user_id":"u","session_id":"s","role":%q,"speaker":%q,"text":"x","time":"2026-01-01T00:00:00Z"}`
	const locomo = `[{"sample_id":"u","conversation":{"session_1_date_time":"1:56 pm on 8 May, 2023",
		"session_1":[{"role":%q,"speaker":%q,"dia_id":"D1:1","text":"x"}]}}]`
	type voice struct {
		role    memory.Role
		speaker string
	}
	for _, format := range []string{lines, locomo} {
		for in, want := range map[voice]voice{
			{"", "Ana"}: {memory.RoleUser, "Ana"}, {"User", "Ana"}: {memory.RoleUser, "Ana"},
			{"USER", ""}:         {memory.RoleUser, "user"},
			{"Assistant", "Max"}: {memory.RoleAssistant, "Max"}, {"", "ASSISTANT"}: {memory.RoleAssistant, "ASSISTANT"},
			{"user", "assistant"}: {memory.RoleUser, "assistant"}, {"Tool", "Ana"}: {memory.RoleAssistant, "tool"},
			{"tool", ""}: {memory.RoleAssistant, "tool"}, {"", "Tool"}: {memory.RoleAssistant, "tool"},
		} {
			sessions, err := read(strings.NewReader(fmt.Sprintf(format, in.role, in.speaker)))
			if err != nil || len(sessions) != 1 {
				t.Fatalf("%+v: %v, %v", in, sessions, err)
			}
			if got := sessions[0].Turns[0]; got.Role != want.role || got.Speaker != want.speaker {
				t.Errorf("%+v became %s of %q, want %+v", in, got.Role, got.Speaker, want)
			}
		}
		_, err := read(strings.NewReader(fmt.Sprintf(format, "robot", "Ana")))
		if !errors.Is(err, dataset.ErrFormat) || !strings.Contains(err.Error(),
			`role is "robot", want user, assistant or tool`) {
			t.Errorf("error %v", err)
		}
	}
}

package saliency_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestCommitmentIsTheSentenceInWhichAnAssistantCommitsItself(t *testing.T) {
	const promise = "From now on I'll answer in plain sentences."
	for _, c := range []struct {
		role       memory.Role
		said, want string
	}{
		{memory.RoleAssistant, promise, promise},
		{memory.RoleAssistant, "Plain prose reads well. " + promise + " Paris is the capital of France.", promise},
		{memory.RoleAssistant, "* " + promise, promise},
		{memory.RoleAssistant, "From now on I'll answer in plain sentences?", ""},
		{memory.RoleUser, promise, ""},
		{memory.RoleAssistant, "> " + promise, ""},
		{memory.RoleAssistant, "```\n" + promise + "\n```", ""},
		{memory.RoleAssistant, "You could take the train. It leaves every hour. Would you like me to look it up?", ""},
		{memory.RoleAssistant, "", ""},
	} {
		if got := saliency.Commitment(memory.Turn{Role: c.role, Text: c.said}); got != c.want {
			t.Errorf("%s: %q: got %q, want %q", c.role, c.said, got, c.want)
		}
	}
}

func TestTheFilterKeepsWhatAnAssistantCommitsItselfTo(t *testing.T) {
	turn := memory.Turn{Role: memory.RoleAssistant, Text: "From now on I'll answer in plain sentences."}
	got, err := saliency.NewTrained().Filter(t.Context(), memory.Scope{}, []memory.Turn{turn}, nil)
	if err != nil || !got[0].Salient {
		t.Errorf("got %+v, %v", got, err)
	}
}

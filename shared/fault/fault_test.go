package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mneme-memory/mneme/shared/fault"
)

func TestKinds(t *testing.T) {
	plain := errors.New("store is unavailable")
	terminal := fault.Terminal("turn.text", "is empty, want %d bytes", 3)
	tests := []struct {
		name     string
		err      error
		terminal bool
		field    string
	}{
		{"no error", nil, false, ""},
		{"unknown errors are retryable", plain, false, ""},
		{"a terminal one", terminal, true, "turn.text"},
		{"wrapped it stays terminal", fmt.Errorf("decode: %w", terminal), true, "turn.text"},
		{"joined with a retryable one it stays terminal", errors.Join(plain, terminal), true, "turn.text"},
		{"the whole input has no field", fault.Terminal("", "is no event"), true, ""},
		{"cancellation is not terminal", fmt.Errorf("search: %w", context.Canceled), false, ""},
		{"a deadline is retryable", context.DeadlineExceeded, false, ""},
		{"an unusable answer is retryable", fmt.Errorf("extract: %w", fault.ErrUnusableAnswer), false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fault.IsTerminal(tt.err); got != tt.terminal {
				t.Errorf("IsTerminal is %t", got)
			}
			if got := fault.Field(tt.err); got != tt.field {
				t.Errorf("Field is %q, want %q", got, tt.field)
			}
		})
	}
}

func TestTextBeginsWithTheField(t *testing.T) {
	if got := fault.Terminal("turn.text", "is %d bytes long", 9).Error(); got != "turn.text: is 9 bytes long" {
		t.Errorf("got %q", got)
	}
	if got := fault.Terminal("", "is no event").Error(); got != "is no event" {
		t.Errorf("got %q", got)
	}
}

func TestTheCauseCanBeFound(t *testing.T) {
	cause := errors.New("no such entry")
	if !errors.Is(fault.Terminal("targets", "names x: %w", cause), cause) {
		t.Error("the cause is lost")
	}
}

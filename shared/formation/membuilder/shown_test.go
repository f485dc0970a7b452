package membuilder_test

import (
	"encoding/json"
	"testing"

	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// data is what roles are shown.
type data struct {
	Turns []struct {
		ID, Time, Text string
	}
	Memories []struct {
		ID, Kind, Content string
	}
	Core struct {
		Text             string
		Length, Capacity int
		Percent          int `json:"percent_full"`
	}
	Below  int
	Harder bool
}

// shown is the data of a role's last call.
func shown(t *testing.T, s *llmtest.Server, role model.Role) data {
	t.Helper()
	calls := s.Calls(role)
	var out data
	if len(calls) == 0 || json.Unmarshal(calls[len(calls)-1].Data(), &out) != nil {
		t.Fatalf("%s was shown nothing", role)
	}
	return out
}

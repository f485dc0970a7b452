package llm_test

import (
	"strings"
	"testing"

	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestTheProfilerSeesTheDialogueOfAnEntry(t *testing.T) {
	s := llmtest.New(t)
	e := evidence(100)
	e.Memories[0].Value = "Ana (2024-05-01): it was the hazelnut spread"
	if _, err := newProfiler(t, s).Profile(t.Context(), scope, e); err != nil {
		t.Fatal(err)
	}
	data := string(s.Calls(model.RoleUtilizer)[0].Data())
	if !strings.Contains(data, "hazelnut spread") || strings.Count(data, `"dialogue"`) != 1 {
		t.Errorf("the data is %s", data)
	}
}

func TestTheDialogueOfATurnIsShownOnce(t *testing.T) {
	s := llmtest.New(t)
	e := evidence(100)
	e.Memories[0].Value, e.Memories[1].Value = "Ana: the hazelnut spread", "Ana: the hazelnut spread"
	if _, err := newProfiler(t, s).Profile(t.Context(), scope, e); err != nil {
		t.Fatal(err)
	}
	if data := string(s.Calls(model.RoleUtilizer)[0].Data()); strings.Count(data, "hazelnut spread") != 1 {
		t.Errorf("the data is %s", data)
	}
}

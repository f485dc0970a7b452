package reranker_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	if _, err := config.Load[reranker.Config](nil); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	for _, tt := range []struct{ variable, value string }{
		{"MNEME_RERANKER_EXPLORE", "1.5"}, {"MNEME_RERANKER_EXPLORE", "-0.1"}, {"MNEME_RERANKER_EXPLORE_LAST", "1.5"},
		{"MNEME_RERANKER_EXPLORE_LAST", "-0.1"}, {"MNEME_RERANKER_SPREAD", "-1"},
		{"MNEME_RERANKER_FEATURE_RATE", "-1"}, {"MNEME_RERANKER_BATCH", "0"},
		{"MNEME_RERANKER_USER_RATE", "0"}, {"MNEME_RERANKER_TENANT_RATE", "0"},
		{"MNEME_RERANKER_LOAD_TIMEOUT", "0s"},
		{"MNEME_RERANKER_TRACES", "0"}, {"MNEME_RERANKER_TRACE_TTL", "1ns"},
	} {
		t.Run(tt.variable+"="+tt.value, func(t *testing.T) {
			_, err := config.Load[reranker.Config](map[string]string{tt.variable: tt.value})
			if !fault.IsTerminal(err) || !strings.Contains(err.Error(), tt.variable) {
				t.Errorf("got %v, want it to name %s", err, tt.variable)
			}
		})
	}
}

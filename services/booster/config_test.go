package booster_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/booster"
)

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	valid := booster.Config{Roles: []string{"intake", "attribution", "workflow", "model", "store"}, ModelParallel: 1,
		StoreParallel: 1}
	if err := valid.Validate(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, variable string
		change         func(*booster.Config)
	}{
		{"no role", "MNEME_BOOSTER_ROLES", func(c *booster.Config) { c.Roles = nil }},
		{"an unknown role", "MNEME_BOOSTER_ROLES", func(c *booster.Config) { c.Roles = []string{"intake", "cook"} }},
		{"no model-bound work", "MNEME_BOOSTER_MODEL_PARALLEL", func(c *booster.Config) { c.ModelParallel = 0 }},
		{"no store-bound work", "MNEME_BOOSTER_STORE_PARALLEL", func(c *booster.Config) { c.StoreParallel = -1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := valid
			tt.change(&c)
			if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.variable) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want it to name %s alone", err, tt.variable)
			}
		})
	}
}

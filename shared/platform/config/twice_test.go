package config_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

// port is used in two places.
type port struct {
	Number int `env:"MNEME_TEST_PORT" envDefault:"80" desc:"a port"`
}

// Validate is the method that Load calls.
func (p port) Validate() error {
	return config.Require(p.Number > 0, "MNEME_TEST_PORT", p.Number, "more than zero")
}

type twice struct{ In, Out port }

func TestAVariableThatIsUsedTwiceIsToldOnce(t *testing.T) {
	cfg, err := config.Load[twice](map[string]string{"MNEME_TEST_PORT": "81"})
	if err != nil || cfg.In.Number != 81 || cfg.Out.Number != 81 {
		t.Fatalf("got %+v, %v", cfg, err)
	}
	if rows, values := config.Describe[twice](),
		config.Values(cfg); len(rows) != 1 || len(values) != 1 || values[0].Text != "81" {
		t.Errorf("described %v, with values %v", rows, values)
	}
	for _, wrong := range []string{"many", "-1"} {
		_, err := config.Load[twice](map[string]string{"MNEME_TEST_PORT": wrong})
		if err == nil || strings.Count(err.Error(), "MNEME_TEST_PORT") != 1 {
			t.Errorf("%s: got %v, want one line about it", wrong, err)
		}
	}
}

package config_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

type store struct {
	Addr    string        `env:"ADDR" envDefault:"127.0.0.1:1" desc:"host and port"`
	Timeout time.Duration `env:"TIMEOUT" envDefault:"2s" desc:"longest call"`
}

func (s store) Validate() error {
	return errors.Join(
		config.Require(strings.Contains(s.Addr, ":"), "ADDR", s.Addr, "host:port"),
		config.Require(s.Timeout > 0, "TIMEOUT", s.Timeout, "more than zero"),
	)
}

type settings struct {
	Redis  store          `envPrefix:"MNEME_REDIS_"`
	Bank   store          `envPrefix:"MNEME_BANK_"`
	Format string         `env:"MNEME_FORMAT" envDefault:"json" oneof:"json|text" desc:"log format"`
	Topics []string       `env:"MNEME_TOPICS" envSeparator:";" envDefault:"a;b" desc:"topics"`
	Limit  config.Size    `env:"MNEME_LIMIT" envDefault:"4MiB" desc:"largest body"`
	Ratio  float64        `env:"MNEME_RATIO" envDefault:"0.5" desc:"share of traces"`
	Key    config.Secret  `env:"MNEME_KEY" desc:"API key"`
	Extra  map[string]int `env:"MNEME_EXTRA" desc:"weights"`
}

func TestLoadUsesDefaultsAndTheGivenEnvironmentOnly(t *testing.T) {
	t.Setenv("MNEME_RATIO", "0.9")
	cfg, err := config.Load[settings](nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Ratio != 0.5 || cfg.Redis.Timeout != 2*time.Second || cfg.Limit != 4<<20 {
		t.Fatalf("got %+v", cfg)
	}
	cfg, err = config.Load[settings](map[string]string{
		"MNEME_REDIS_ADDR": "r:2", "MNEME_BANK_ADDR": "b:3", "MNEME_TOPICS": "x;y;z", "MNEME_EXTRA": "a:1,b:2",
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Redis.Addr != "r:2" || cfg.Bank.Addr != "b:3" || len(cfg.Topics) != 3 || cfg.Extra["b"] != 2 {
		t.Fatalf("got %+v", cfg)
	}
}

func TestLoadReportsEveryProblemByVariable(t *testing.T) {
	_, err := config.Load[settings](map[string]string{
		"MNEME_REDIS_TIMEOUT": "soon", "MNEME_BANK_ADDR": "nowhere", "MNEME_BANK_TIMEOUT": "-1s",
		"MNEME_FORMAT": "xml", "MNEME_LIMIT": "big", "MNEME_RATIO": "half",
	})
	if !errors.Is(err, config.ErrInvalid) || !fault.IsTerminal(err) {
		t.Fatalf("error %v is not terminal and invalid", err)
	}
	for _, want := range []string{
		`MNEME_REDIS_TIMEOUT is "soon", expected a duration such as 30s`,
		`MNEME_BANK_ADDR is "nowhere", expected host:port`,
		`MNEME_BANK_TIMEOUT is "-1s", expected more than zero`,
		`MNEME_FORMAT is "xml", expected one of json, text`,
		`MNEME_LIMIT is "big", expected a size such as 4MiB`,
		`MNEME_RATIO is "half", expected a number`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 6 {
		t.Errorf("%d lines after the first, want one for each of 6 problems:\n%v", n, err)
	}
	var p *config.Problem
	if !errors.As(err, &p) || p.Name != "MNEME_REDIS_TIMEOUT" {
		t.Errorf("first problem is %v", p)
	}
}

func TestLoadNamesRequiredVariablesThatAreMissing(t *testing.T) {
	type required struct {
		Key config.Secret `env:"MNEME_KEY,required" desc:"key"`
		URL string        `env:"MNEME_URL,notEmpty" desc:"url"`
	}
	_, err := config.Load[required](map[string]string{"MNEME_URL": ""})
	for _, want := range []string{"MNEME_KEY is not set, expected a secret", "MNEME_URL is not set, expected a string"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	for _, row := range config.Describe[required]() {
		if !row.Required {
			t.Errorf("%s is not described as required", row.Name)
		}
	}
}

func TestLoadNeverShowsSecrets(t *testing.T) {
	type keyed struct {
		Key  config.Secret   `env:"MNEME_KEY" oneof:"a|b" desc:"key"`
		Keys []config.Secret `env:"MNEME_KEYS" desc:"keys"`
		N    int             `env:"MNEME_N" desc:"n"`
	}
	_, err := config.Load[keyed](map[string]string{"MNEME_KEY": "hunter2", "MNEME_KEYS": "hunter2,hunter3"})
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Fatalf("error is %v", err)
	}
	for _, v := range config.Values(keyed{Key: "hunter2", Keys: []config.Secret{"hunter2"}}) {
		if strings.Contains(v.Text, "hunter") {
			t.Errorf("value of %s is %q", v.Name, v.Text)
		}
	}
	for _, row := range config.Describe[keyed]()[:2] {
		if !row.Secret {
			t.Errorf("%s is not marked as a secret", row.Name)
		}
	}
}

func TestDescribeListsRowsInOrder(t *testing.T) {
	rows := config.Describe[settings]()
	want := []config.Row{
		{Name: "MNEME_REDIS_ADDR", Type: "string", Default: "127.0.0.1:1", Description: "host and port"},
		{Name: "MNEME_REDIS_TIMEOUT", Type: "duration", Default: "2s", Description: "longest call"},
	}
	if len(rows) != 10 || !reflect.DeepEqual(rows[:2], want) {
		t.Fatalf("got %+v", rows)
	}
	var types []string
	for _, row := range rows[4:] {
		types = append(types, row.Type)
	}
	got := strings.Join(types, "; ")
	if got != "json | text; list of string; size; number; secret; map of string to integer" {
		t.Errorf("types are %s", got)
	}
}

func TestUnrecognizedNamesVariablesThatNoSettingKnows(t *testing.T) {
	known := config.Describe[settings]()
	unknown := config.Unrecognized(map[string]string{
		"MNEME_RATIO": "1", "MNEME_TOPICSS": "a", "MNEME_BANK_ADR": "b", "RATIO": "d",
		"MNEME_NO_SUCH_SETTING": "hunter2", "MNEME_EMPTY_ONE": "",
		"MNEME_WEAVIATE_HTTP": "127.0.0.1:8080", "MNEME_WEAVIATE_HTP": "127.0.0.1:8080", // of other services
		"MNEME_BANK_SERVICE_HOST": "c", "MNEME_BANK_SERVICE_PORT_HTTP": "80", "MNEME_BANK_PORT": "tcp://10.0.0.1:80",
		"MNEME_BANK_PORT_80_TCP_ADDR": "10.0.0.1",
	}, known)
	want := []config.Unknown{
		{Name: "MNEME_BANK_ADR", Meant: "MNEME_BANK_ADDR"}, {Name: "MNEME_NO_SUCH_SETTING"},
		{Name: "MNEME_TOPICSS", Meant: "MNEME_TOPICS"}, {Name: "MNEME_WEAVIATE_HTP", Meant: "MNEME_WEAVIATE_HTTP"},
	}
	if !reflect.DeepEqual(unknown, want) {
		t.Fatalf("got %v", unknown)
	}
	if says := unknown[1].String(); says != "MNEME_NO_SUCH_SETTING is not a setting of Mneme" {
		t.Errorf("says %q", says)
	}
	if says := unknown[2].String(); says != "MNEME_TOPICSS is not a setting of Mneme; did you mean MNEME_TOPICS?" {
		t.Errorf("says %q", says)
	}
}

func TestMarkdownKeepsCellsWhole(t *testing.T) {
	got := config.Markdown([]config.Section{{Title: "Booster", Text: "Forms memory.", Rows: []config.Row{
		{Name: "MNEME_FORMAT", Type: "json | text", Default: "json", Description: "log\nformat"},
		{Name: "MNEME_KEY", Type: "secret", Required: true, Description: "key"},
	}}})
	want := "## Booster\n\nForms memory.\n\n| variable | type | default | meaning |\n|---|---|---|---|\n" +
		"| `MNEME_FORMAT` | json \\| text | `json` | log format |\n| `MNEME_KEY` | secret | **required** | key |\n"
	if got != want {
		t.Fatalf("got\n%s", got)
	}
}

// Load reads the output of Values back, so a printed configuration is usable again.
func TestValuesReadBack(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		cfg := settings{
			Redis: store{Addr: word.Draw(t, "host") + ":1",
				Timeout: time.Duration(rapid.Int64Range(1, 1<<50).Draw(t, "timeout"))},
			Bank:   store{Addr: "b:2", Timeout: time.Second},
			Format: rapid.SampledFrom([]string{"json", "text"}).Draw(t, "format"),
			Topics: rapid.SliceOfN(word, 1, 4).Draw(t, "topics"),
			Limit:  config.Size(rapid.Int64Range(0, 1<<62).Draw(t, "limit")),
			Ratio:  rapid.Float64().Draw(t, "ratio"),
			Extra:  rapid.MapOfN(word, rapid.IntRange(-1<<31, 1<<31-1), 1, 3).Draw(t, "extra"),
		}
		environ := make(map[string]string)
		for _, v := range config.Values(cfg) {
			environ[v.Name] = v.Text
		}
		got, err := config.Load[settings](environ)
		if err != nil || !reflect.DeepEqual(got, cfg) {
			t.Fatalf("loaded %+v (%v), want %+v", got, err, cfg)
		}
	})
}

// Package tenant describes the tenants, who are the customers of the service. It has their strategies and their API
// keys. They are in a YAML file that is read again after a change. The file has only hashes of keys. A Source has
// further tenants, made at run time.
package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// ErrUnknownKey says that no tenant has an API key.
var ErrUnknownKey = errors.New("API key is not known")

// ErrSuspended says that an API key is valid, and its tenant suspended.
var ErrSuspended = errors.New("the tenant is suspended")

// Strategy is a way of forming memory.
type Strategy string

// The strategies.
const (
	StrategySalimory   Strategy = "salimory"
	StrategyMembuilder Strategy = "membuilder"
	StrategyDeltamem   Strategy = "deltamem"
	StrategyMemoryR2   Strategy = "memory-r2"
	StrategyRMM        Strategy = "rmm"
)

// WritesCore reports whether the strategy writes the core block of each user itself, as one of its decisions. For
// the other strategies consolidation chooses it among the memories.
func (s Strategy) WritesCore() bool { return s == StrategyMembuilder }

// Saliency is the default mode of the filter for the strategy. Of the papers only SaliMory has a gate. The others
// form memory from every turn.
func (s Strategy) Saliency() memory.SaliencyMode {
	if s == StrategySalimory {
		return memory.SaliencyGate
	}
	return memory.SaliencyMark
}

// Policy makes the decisions of a strategy: embedded, or llm. embedded@VERSION is a trained policy of that version.
type Policy string

// Kind is the policy without its version.
func (p Policy) Kind() Policy {
	kind, _, _ := strings.Cut(string(p), "@")
	return Policy(kind)
}

// Version is the version of a trained policy. It is empty for the rules and models that are part of the program.
func (p Policy) Version() string {
	_, version, _ := strings.Cut(string(p), "@")
	return version
}

// MaxVersionBytes bounds the version of a trained policy.
const MaxVersionBytes = 48

// versions matches the allowed versions in policy files.
var versions = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidVersion reports a fault in the version of a trained policy.
func ValidVersion(version string) error {
	if len(version) > MaxVersionBytes || !versions.MatchString(version) {
		return fault.Terminal("version", "is %q, want 1 to %d of A-Z, a-z, 0-9, '.', '_' and '-', beginning with a "+
			"letter or digit",
			version, MaxVersionBytes)
	}
	return nil
}

// The policies.
const (
	PolicyEmbedded Policy = "embedded"
	PolicyLLM      Policy = "llm"
)

// Exploration sets the share of a tenant's recalls that explore. Such a recall gives its last place to a memory
// that would not be shown, so that it can be cited too. Values: ExplorationOn, ExplorationOff, or a share from 0 to
// 1 such as 0.05. Empty is ExplorationOn.
type Exploration string

// The explorations that are no share.
const (
	ExplorationOn  Exploration = "on"
	ExplorationOff Exploration = "off"
)

// Share is the share of recalls that explore. The argument usual is the share for ExplorationOn.
func (e Exploration) Share(usual float64) float64 {
	switch e {
	case "", ExplorationOn:
		return usual
	case ExplorationOff:
		return 0
	}
	share, _ := e.number() // it was checked at the read of the tenant
	return share
}

// number returns a share given as a number.
func (e Exploration) number() (share float64, ok bool) {
	share, err := strconv.ParseFloat(string(e), 64)
	return share, err == nil && share >= 0 && share <= 1
}

// Strategies returns the strategies that a tenant may have. The first is the default.
func Strategies() []Strategy {
	return []Strategy{StrategySalimory, StrategyMembuilder, StrategyDeltamem, StrategyMemoryR2, StrategyRMM}
}

// Policies returns the policies that a tenant may have. The first is the default.
func Policies() []Policy { return []Policy{PolicyEmbedded, PolicyLLM} }

// MaxTalkDays is the longest retention of talk.
const MaxTalkDays = 36500

// Tenant is a customer of the service.
type Tenant struct {
	// ID is an id that memory.ValidTenant accepts.
	ID string
	// Name is a display name, by default the ID.
	Name string
	// Strategy forms its memories.
	Strategy Strategy
	// Policy makes the decisions of that strategy.
	Policy Policy
	// Saliency is the filter's treatment of turns that are not worth remembering.
	Saliency memory.SaliencyMode
	// Explore is how often recall explores.
	Explore Exploration
	// TalkDays is how many days the bank keeps talk, by the time of its turn. 0 keeps it for ever.
	TalkDays int
	// Suspended refuses every call of the tenant. Turns accepted before still form memories.
	Suspended bool
}

// Header names a tenant. Between services it names the tenant of the call. With a tenant's key it names the tenant
// that the caller expects.
const Header = "Mneme-Tenant"

// CheckNamed checks a Header that came with a key of the tenant. The header is optional. A caller that names
// another tenant would act on the wrong users, so it gets an error.
func (t Tenant) CheckNamed(named string) error {
	if named != "" && named != t.ID {
		return errors.New("the API key does not belong to the tenant that " + Header + " names")
	}
	return nil
}

// Entry is a tenant with its credentials, as in the file.
type Entry struct {
	Tenant
	// APIKeys are hashes in the form of HashKey. A tenant without any cannot be called for.
	APIKeys []string
}

// keyPrefix names the hash before its digits.
const keyPrefix = "sha256:"

// HashKey returns an API key in the form of the tenants file: "sha256:" and 64 hexadecimal digits. Keys are long
// and random, so a plain hash is enough to store them.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return keyPrefix + hex.EncodeToString(sum[:])
}

type contextKey struct{}

// NewContext returns ctx with the tenant of a call.
func NewContext(ctx context.Context, t Tenant) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// FromContext returns the tenant of a call. The result ok is false for an unauthenticated call.
func FromContext(ctx context.Context) (t Tenant, ok bool) {
	t, ok = ctx.Value(contextKey{}).(Tenant)
	return t, ok
}

// file is the tenants file.
type file struct {
	Tenants []fileEntry `yaml:"tenants"`
}

type fileEntry struct {
	ID       string   `yaml:"id"`
	Name     string   `yaml:"name"`
	Strategy Strategy `yaml:"strategy"`
	Policy   Policy   `yaml:"policy"`
	// Saliency is the strategy's mode when omitted.
	Saliency memory.SaliencyMode `yaml:"saliency"`
	Explore  Exploration         `yaml:"explore"`
	// TalkDays is 0 when omitted. As an int, the library would cut 0.5 to 0, which keeps talk for ever.
	TalkDays float64 `yaml:"talk_days"`
	// Suspended is false when omitted.
	Suspended bool `yaml:"suspended"`
	// APIKeys is decoded by hand. The library's errors show values, and an unhashed key must not appear in a log.
	APIKeys yaml.Node `yaml:"api_keys"`
}

// Parse reads a tenants file. Strategy and policy are optional and have defaults. An unknown field is an error with
// its line. Parse reports every error it finds and never a value of api_keys.
func Parse(r io.Reader) ([]Entry, error) {
	entries, s, err := parse(r, 1)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].Tenant = s.ordered[i]
	}
	return entries, nil
}

// parse reads a file with a minimum number of tenants.
func parse(r io.Reader, least int) ([]Entry, *snapshot, error) {
	entries, err := decode(r)
	if err != nil {
		return nil, nil, err
	}
	s, err := newSnapshot(entries, least)
	return entries, s, err
}

// decode reads the form of the file and does not check its values.
func decode(r io.Reader) ([]Entry, error) {
	var f file
	decoder := yaml.NewDecoder(r)
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, describe(err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document, want one")
	}
	entries := make([]Entry, len(f.Tenants))
	var problems []error
	for i, e := range f.Tenants {
		keys, err := e.keys(fmt.Sprintf("tenants[%d].api_keys", i))
		problems = append(problems, err)
		days := int(e.TalkDays)
		if float64(days) != e.TalkDays {
			problems = append(problems, fmt.Errorf("tenants[%d].talk_days: is %g, want a whole number of days", i, e.TalkDays))
		}
		t := Tenant{
			ID: e.ID, Name: e.Name, Strategy: e.Strategy, Policy: e.Policy, Saliency: e.Saliency,
			Explore: e.Explore, TalkDays: days, Suspended: e.Suspended,
		}
		entries[i] = Entry{Tenant: t, APIKeys: keys}
	}
	return entries, errors.Join(problems...)
}

// keys returns the strings of api_keys.
func (e *fileEntry) keys(path string) ([]string, error) {
	node := &e.APIKeys
	if node.IsZero() || node.Tag == "!!null" {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s: line %d: is not a list, want a list of sha256:HEX", path, node.Line)
	}
	keys := make([]string, len(node.Content))
	for i, item := range node.Content {
		if item.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%s[%d]: line %d: is not a string, want sha256:HEX", path, i, item.Line)
		}
		keys[i] = item.Value
	}
	return keys, nil
}

var (
	goType     = regexp.MustCompile(` (in type|into) \S+`)
	shownValue = regexp.MustCompile("(?s) `.*`")
)

// describe removes Go's types and the file's values from the library's errors.
func describe(err error) error {
	typeErr, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	var problems []error
	for _, text := range typeErr.Errors {
		text = shownValue.ReplaceAllString(text, "")
		text = goType.ReplaceAllString(text, "")
		text = strings.Replace(text, "cannot unmarshal", "does not fit here:", 1)
		problems = append(problems, errors.New(text))
	}
	return errors.Join(problems...)
}

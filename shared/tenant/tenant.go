// Package tenant describes the tenants, who are the customers of the service. It has their strategies and their API
// keys. They are in a YAML file that is read again after a change. The file has only hashes of keys. A Source has
// further tenants, made at run time.
package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strconv"
	"strings"

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

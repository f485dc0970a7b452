// Package tenant knows the tenants: the customers of the service, how their memories are
// formed, and which API keys are theirs. They stand in a YAML file that is read again
// when it changes; keys stand there as hashes only. Others may be made at run time, and come from a Source.
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

// ErrSuspended says that an API key is good, and its tenant suspended.
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

// WritesCore reports whether the strategy writes the core block of each user itself, as one of its decisions. For the others consolidation
// chooses it among the memories.
func (s Strategy) WritesCore() bool { return s == StrategyMembuilder }

// Saliency is what the filter does where the tenant does not say it. Of the papers only SaliMory has a gate; the others form memory from
// everything that was said.
func (s Strategy) Saliency() memory.SaliencyMode {
	if s == StrategySalimory {
		return memory.SaliencyGate
	}
	return memory.SaliencyMark
}

// Policy is what makes the decisions of a strategy: embedded, or llm; embedded@VERSION is a trained policy of that version.
type Policy string

// Kind is the policy without its version.
func (p Policy) Kind() Policy {
	kind, _, _ := strings.Cut(string(p), "@")
	return Policy(kind)
}

// Version is that of a trained policy; empty for the rules and models that are part of the program.
func (p Policy) Version() string {
	_, version, _ := strings.Cut(string(p), "@")
	return version
}

// MaxVersionBytes bounds the version of a trained policy.
const MaxVersionBytes = 48

// versions are those that files of policies may have.
var versions = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidVersion says what is wrong with the version of a trained policy.
func ValidVersion(version string) error {
	if len(version) > MaxVersionBytes || !versions.MatchString(version) {
		return fault.Terminal("version", "is %q, want 1 to %d of A-Z, a-z, 0-9, '.', '_' and '-', the first no sign", version, MaxVersionBytes)
	}
	return nil
}

// The policies.
const (
	PolicyEmbedded Policy = "embedded"
	PolicyLLM      Policy = "llm"
)

// Exploration says in which share of a tenant's recalls the last place is given to a memory that would not be shown, so that citations can
// tell of such memories, too: ExplorationOn, ExplorationOff, or a share from 0 to 1 such as 0.05. Empty is ExplorationOn.
type Exploration string

// The explorations that are no share.
const (
	ExplorationOn  Exploration = "on"
	ExplorationOff Exploration = "off"
)

// Share is the share of recalls; usual is what stands for on.
func (e Exploration) Share(usual float64) float64 {
	switch e {
	case "", ExplorationOn:
		return usual
	case ExplorationOff:
		return 0
	}
	share, _ := e.number() // checked when the tenant was read
	return share
}

// number is a share that is given as a number.
func (e Exploration) number() (share float64, ok bool) {
	share, err := strconv.ParseFloat(string(e), 64)
	return share, err == nil && share >= 0 && share <= 1
}

// Strategies returns the strategies that a tenant may have; the first is the default.
func Strategies() []Strategy {
	return []Strategy{StrategySalimory, StrategyMembuilder, StrategyDeltamem, StrategyMemoryR2, StrategyRMM}
}

// Policies returns the policies that a tenant may have; the first is the default.
func Policies() []Policy { return []Policy{PolicyEmbedded, PolicyLLM} }

// Tenant is a customer of the service.
type Tenant struct {
	// ID is what memory.ValidTenant accepts.
	ID string
	// Name is for people; the ID where none is given.
	Name string
	// Strategy is how its memories are formed.
	Strategy Strategy
	// Policy is what decides in that strategy.
	Policy Policy
	// Saliency is what the filter does with turns that it finds not worth remembering.
	Saliency memory.SaliencyMode
	// Explore is how often recall explores.
	Explore Exploration
	// Suspended has every call of the tenant refused. What was accepted before is still formed.
	Suspended bool
}

// Header names a tenant: between services the one that is called for, beside a tenant's own key the one that the caller takes it for.
const Header = "Mneme-Tenant"

// CheckNamed checks what came in Header beside a key of the tenant. It may be left out; a caller that names another tenant than its key's
// is mistaken about whose users it is going to act on.
func (t Tenant) CheckNamed(named string) error {
	if named != "" && named != t.ID {
		return errors.New("the API key is not of the tenant that " + Header + " names")
	}
	return nil
}

// Entry is a tenant with its credentials, as the file holds them.
type Entry struct {
	Tenant
	// APIKeys are hashes in the form of HashKey. Without any the tenant cannot be called for.
	APIKeys []string
}

// keyPrefix names the hash in front of its digits.
const keyPrefix = "sha256:"

// HashKey returns an API key as the tenants file holds it: "sha256:" and 64 hexadecimal
// digits. Keys are long and random, so that a plain hash is enough to keep them.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return keyPrefix + hex.EncodeToString(sum[:])
}

type contextKey struct{}

// NewContext returns ctx with the tenant that a call is made for.
func NewContext(ctx context.Context, t Tenant) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// FromContext returns the tenant that a call is made for; ok is false where nobody has been
// authenticated.
func FromContext(ctx context.Context) (t Tenant, ok bool) {
	t, ok = ctx.Value(contextKey{}).(Tenant)
	return t, ok
}

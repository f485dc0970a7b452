package wiring

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// trainedPolicies are those that the program comes with, and those of a folder, by version. A version that is not known is looked for anew,
// so that one can be put there at any time; what a version is does not change while the process runs. It is safe for concurrent use.
type trainedPolicies struct {
	folder string
	mu     sync.Mutex
	known  map[string]*decision.Policy
}

// newTrainedPolicies looks whether there is a folder where one is set: a misspelt one would be noticed with the first turn.
func newTrainedPolicies(d Decisions) (*trainedPolicies, error) {
	if d.Folder != "" {
		if at, err := os.Stat(d.Folder); err != nil || !at.IsDir() {
			return nil, fault.Terminal("MNEME_DECISION_POLICIES", "is %q, want a folder that is there", d.Folder)
		}
	}
	return &trainedPolicies{folder: d.Folder, known: map[string]*decision.Policy{}}, nil
}

// Check reports a policy that names a version which there is none of, before a turn does.
func (d Decisions) Check(p tenant.Policy) error {
	trained, err := newTrainedPolicies(d)
	if err == nil && p.Version() != "" {
		_, err = trained.find(p)
	}
	return err
}

// find returns the policy of a version. One that there is none of is a terminal error, so that no other tenant waits for it: the turns
// become dead letters, which are replayed when the operator has put it there.
func (t *trainedPolicies) find(p tenant.Policy) (*decision.Policy, error) {
	shipped := decision.Shipped()
	if found := shipped[p.Version()]; found != nil {
		return found, nil
	}
	if t == nil || t.folder == "" {
		return nil, fault.Terminal("policy", "is %q, want a version of %q, or one in MNEME_DECISION_POLICIES, which is not set", p,
			slices.Sorted(maps.Keys(shipped)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.known[p.Version()]; found != nil {
		return found, nil
	}
	files, err := filepath.Glob(filepath.Join(t.folder, "*.json"))
	var broken []error
	for _, file := range files {
		policy, err := readPolicy(file)
		if err != nil {
			broken = append(broken, err)
		} else if t.known[policy.Version] == nil {
			t.known[policy.Version] = policy
		}
	}
	if found := t.known[p.Version()]; found != nil {
		return found, nil
	}
	return nil, fault.Terminal("policy", "is %q, and no file of MNEME_DECISION_POLICIES has that version: %w", p,
		errors.Join(append(broken, err, os.ErrNotExist)...))
}

func readPolicy(file string) (*decision.Policy, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := decision.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return p, nil
}

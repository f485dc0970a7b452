package wiring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// ErrNoPolicy means that there is no trained policy of a version, or that files disagree about it.
var ErrNoPolicy = errors.New("no trained policy of that version")

// trainedPolicies holds the policies of a folder by version. It looks up an unknown version in the folder if the
// folder has changed, so that a policy can be added at any time. A version does not change while the process runs. It
// is safe for concurrent use: a lookup of a known version waits for no file.
type trainedPolicies struct {
	folder string
	mu     sync.RWMutex
	known  map[string]*decision.Policy
	// reading is held during a read of the folder. listed is the content of the folder at that time, and broken is its
	// unusable part.
	reading sync.Mutex
	listed  string
	broken  error
}

// newTrainedPolicies checks that a configured folder exists. Otherwise the first turn would reveal a misspelt name.
func newTrainedPolicies(d Decisions) (*trainedPolicies, error) {
	if d.Folder != "" {
		if at, err := os.Stat(d.Folder); err != nil || !at.IsDir() {
			return nil, fault.Terminal("MNEME_DECISION_POLICIES", "is %q, want an existing folder", d.Folder)
		}
	}
	return &trainedPolicies{folder: d.Folder, known: map[string]*decision.Policy{}}, nil
}

// Check reports a policy with an unknown version before a turn needs it.
func (d Decisions) Check(p tenant.Policy) error {
	trained, err := newTrainedPolicies(d)
	if err == nil && p.Version() != "" {
		_, err = trained.find(p)
	}
	return err
}

// find returns the policy of a version. An unknown version is a terminal error, so that no other tenant waits for it.
// The turns become dead letters. The operator adds the policy and replays them.
func (t *trainedPolicies) find(p tenant.Policy) (*decision.Policy, error) {
	if t == nil || t.folder == "" {
		return nil, fault.Terminal("policy", "is %q, want a version in MNEME_DECISION_POLICIES, which is not set: %w",
			p, ErrNoPolicy)
	}
	if found := t.have(p.Version()); found != nil {
		return found, nil
	}
	t.reading.Lock()
	defer t.reading.Unlock()
	err := t.look()
	if found := t.have(p.Version()); found != nil {
		return found, nil
	}
	return nil, fault.Terminal("policy", "is %q, want a version that exactly one file of MNEME_DECISION_POLICIES has: %w",
		p,
		errors.Join(ErrNoPolicy, err, t.broken))
}

func (t *trainedPolicies) have(version string) *decision.Policy {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.known[version]
}

// look reads the folder if it has changed. It drops a version if several files disagree about it.
func (t *trainedPolicies) look() error {
	entries, err := os.ReadDir(t.folder)
	if err != nil {
		return err
	}
	var files []string
	listed := new(strings.Builder)
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		files = append(files, e.Name())
		if at, err := os.Stat(filepath.Join(t.folder, e.Name())); err == nil { // otherwise the read reports the error
			fmt.Fprintf(listed, "%q %d %d\n", e.Name(), at.Size(), at.ModTime().UnixNano())
		} else {
			fmt.Fprintf(listed, "%q\n", e.Name())
		}
	}
	if listed.String() == t.listed {
		return nil
	}
	found, broken, unread := map[string]*decision.Policy{}, []error{}, false
	for _, file := range files {
		policy, err := readPolicy(filepath.Join(t.folder, file))
		if err != nil {
			var reading *fs.PathError
			unread = unread || errors.As(err, &reading) // a retry may succeed without a visible change of the file
			broken = append(broken, err)
			continue
		}
		other, twice := found[policy.Version]
		if found[policy.Version] = policy; twice && !reflect.DeepEqual(other, policy) {
			broken = append(broken, fmt.Errorf("%s: has another policy of version %q than an earlier file", file,
				policy.Version))
			found[policy.Version] = nil
		}
	}
	t.listed, t.broken = listed.String(), errors.Join(broken...)
	if unread {
		t.listed = ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for version, policy := range found {
		if t.known[version] == nil && policy != nil {
			t.known[version] = policy
		}
	}
	return nil
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

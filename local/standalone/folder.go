package standalone

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// LocalTenant is the tenant of a standalone's data folder.
const LocalTenant = "local"

const (
	tenantsFile    = "tenants.yaml"
	keyFile        = "api-key"
	secretFile     = "internal-secret"
	connectionFile = "connection.json"
	lockFile       = "standalone.lock"
)

// ErrInUse says that a standalone already runs on the data folder.
var ErrInUse = errors.New("the data folder is in use by another running Mneme")

// ErrNoModel says that the local tenant needs a model and no setting names one.
var ErrNoModel = errors.New("policy llm needs a model")

// ErrOtherTenant says that the data folder's tenant has another strategy or policy than requested.
var ErrOtherTenant = errors.New("the data folder has another tenant already")

// ErrNotRunning says that the data folder holds no addresses of a local Mneme.
var ErrNotRunning = errors.New("no local Mneme runs on this data folder")

// Connection holds the addresses and the key for clients of a Mneme.
type Connection struct {
	// Gateway is the base URL of the only public entry point: REST, mem0's API, MCP and RPC.
	Gateway string `json:"gateway,omitempty"`
	// Utilizer is the base URL of the utilizer.
	Utilizer string `json:"utilizer"`
	// Reranker is the base URL of the reranker; empty if unknown.
	Reranker string `json:"reranker,omitempty"`
	// Brokers are the addresses of Kafka.
	Brokers []string `json:"brokers"`
	// Redis are the addresses of Redis; empty if unknown.
	Redis []string `json:"redis,omitempty"`
	// Tenant and APIKey identify the caller.
	Tenant string `json:"tenant"`
	APIKey string `json:"api_key,omitempty"`
	// Traces is the address of the trace viewer and OTLP endpoint; empty if none runs.
	Traces string `json:"traces,omitempty"`
	// Model is the base URL of the model that forms memories, without credentials; empty without a model.
	Model string `json:"model,omitempty"`
	// Parts are the servers and services, with the addresses where they say whether they are ready.
	Parts []Part `json:"parts,omitempty"`
}

// Part is a server or a service.
type Part struct {
	Name string `json:"name"`
	// Address is host:port, or a URL that answers 200 when the part is ready.
	Address string `json:"address"`
}

// Remembers reports whether a data folder remembers the port of a gateway.
func Remembers(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, gatewayPorts))
	return err == nil
}

// save writes the connection to the data folder. Only the owner can read it, because it contains the key.
func (c Connection) save(dir string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("connection file: %w", err)
	}
	return fault.During("connection file", replace(filepath.Join(dir, connectionFile), append(data, '\n')))
}

// LoadConnection reads the connection of the standalone on a data folder. The error is ErrNotRunning without one.
func LoadConnection(dir string) (Connection, error) {
	data, err := os.ReadFile(filepath.Join(dir, connectionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Connection{}, ErrNotRunning
	}
	if err != nil {
		return Connection{}, fmt.Errorf("connection file: %w", err)
	}
	var c Connection
	if err := json.Unmarshal(data, &c); err != nil {
		return Connection{}, fmt.Errorf("connection file: %w", err)
	}
	return c, nil
}

// TenantsFile is the tenants file of a data folder.
func TenantsFile(dir string) string { return filepath.Join(dir, tenantsFile) }

// forget removes the saved connection, because its addresses no longer work.
func forget(dir string) error {
	if err := os.Remove(filepath.Join(dir, connectionFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("connection file: %w", err)
	}
	return nil
}

// settingModel is the setting with the model for tenants of policy llm.
const settingModel = "MNEME_LLM_MODEL"

// checkTenants refuses a start with tenants that the services would refuse or could never form memories for. Reasons
// are a requested strategy or policy that the local tenant lacks, a missing model, and a missing trained policy.
func checkTenants(o Options) error {
	path := filepath.Join(o.Dir, tenantsFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		local, err := localTenant(o.Strategy, o.Policy)
		if err != nil {
			return err
		}
		return checkPolicies(o, local)
	}
	if err != nil {
		return fmt.Errorf("tenants file: %w", err)
	}
	defer f.Close()
	entries, err := tenant.Parse(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := checkAsked(path, entries, o.Strategy, o.Policy); err != nil {
		return err
	}
	tenants := make([]tenant.Tenant, len(entries))
	for i, e := range entries {
		tenants[i] = e.Tenant
	}
	return checkPolicies(o, tenants...)
}

// changePolicy writes the policy of the local tenant into an existing tenants file. Comments and other tenants stay.
func changePolicy(dir, policy string) error {
	path := filepath.Join(dir, tenantsFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tenants file: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	old := localPolicy(&document)
	if old == nil || old.Value == policy {
		return nil // checkTenants reports a file without the tenant
	}
	old.Value = policy
	if content, err = yaml.Marshal(&document); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fault.During("tenants file", replace(path, content))
}

// localPolicy returns the policy of the local tenant in a tenants file, or nil.
func localPolicy(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	tenants := field(document.Content[0], "tenants")
	if tenants == nil {
		return nil
	}
	for _, one := range tenants.Content {
		if id := field(one, "id"); id != nil && id.Value == LocalTenant {
			return field(one, "policy")
		}
	}
	return nil
}

// field returns the value of a key in a mapping, or nil.
func field(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// localTenant returns the local tenant of a new folder. Empty arguments mean the defaults.
func localTenant(strategy, policy string) (tenant.Tenant, error) {
	return tenant.Check(tenant.Tenant{ID: LocalTenant, Name: "Local", Strategy: tenant.Strategy(strategy),
		Policy: tenant.Policy(policy)})
}

// checkPolicies checks the requirements of the tenants' policies.
func checkPolicies(o Options, tenants ...tenant.Tenant) error {
	trained, err := config.Load[wiring.Decisions](o.Environ)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		if t.Policy == tenant.PolicyLLM && o.Environ[settingModel] == "" {
			return fmt.Errorf("tenant %s: %w: set %s, and MNEME_LLM_BASE_URL if the model is not at the default address",
				t.ID, ErrNoModel, settingModel)
		}
		if err := trained.Check(t.Policy); err != nil {
			return fmt.Errorf("tenant %s: %w", t.ID, err)
		}
	}
	return nil
}

// checkAsked refuses a strategy or policy that differs from the local tenant's in the tenants file. Empty ones match
// everything.
func checkAsked(path string, entries []tenant.Entry, strategy, policy string) error {
	if strategy == "" && policy == "" {
		return nil
	}
	i := slices.IndexFunc(entries, func(e tenant.Entry) bool { return e.ID == LocalTenant })
	if i < 0 {
		return fmt.Errorf("%w: %s has no tenant %s for the strategy or policy: set them in the file", ErrOtherTenant, path,
			LocalTenant)
	}
	for _, c := range []struct{ what, asked, has string }{
		{"strategy", strategy, string(entries[i].Strategy)}, {"policy", policy, string(entries[i].Policy)},
	} {
		if c.asked != "" && c.asked != c.has {
			return fmt.Errorf("%w: its %s is %s in %s, not %s: change it there, or choose another folder",
				ErrOtherTenant, c.what, c.has, path, c.asked)
		}
	}
	return nil
}

// ensureTenants creates an API key and the tenants file if they are missing, and returns the key. The next start
// completes an interrupted one. Existing files never change.
func ensureTenants(dir, strategy, policy string) (string, error) {
	tenantsPath := filepath.Join(dir, tenantsFile)
	_, err := os.Stat(tenantsPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("tenants file: %w", err)
	}
	fresh := err != nil
	key, err := ensureKey(dir, fresh)
	if err != nil || !fresh {
		return key, err
	}
	local, err := localTenant(strategy, policy)
	if err != nil {
		return "", err
	}
	content, err := yaml.Marshal(map[string]any{"tenants": []map[string]any{{
		"id": local.ID, "name": local.Name, "strategy": string(local.Strategy), "policy": string(local.Policy),
		"api_keys": []string{tenant.HashKey(key)},
	}}})
	if err != nil {
		return "", fmt.Errorf("tenants file: %w", err)
	}
	if err := replace(tenantsPath, content); err != nil {
		return "", fmt.Errorf("tenants file: %w", err)
	}
	return key, nil
}

// ensureKey returns the API key of the folder. If it is missing and may is true, it creates one.
func ensureKey(dir string, may bool) (string, error) {
	path := filepath.Join(dir, keyFile)
	found, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("API key: %w", err)
	}
	if key := strings.TrimSpace(string(found)); key != "" {
		return key, nil
	}
	if !may {
		return "", fmt.Errorf("%s has a %s but no %s: put an API key of tenant %s there, or remove the %s for new ones",
			dir, tenantsFile, keyFile, LocalTenant, tenantsFile)
	}
	return makeSecret(path, "mneme_")
}

// ensureSecret returns the shared secret of the folder's services. If it is missing, it creates one.
func ensureSecret(dir string) (string, error) {
	path := filepath.Join(dir, secretFile)
	found, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("internal secret: %w", err)
	}
	if secret := strings.TrimSpace(string(found)); secret != "" {
		return secret, nil
	}
	return makeSecret(path, "")
}

// makeSecret writes a new secret with a prefix and returns it.
func makeSecret(path, prefix string) (string, error) {
	chance := make([]byte, 24)
	if _, err := rand.Read(chance); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	secret := prefix + hex.EncodeToString(chance)
	if err := replace(path, []byte(secret)); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return secret, nil
}

// replace replaces a file atomically. Only the owner can read it.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// dirLock prevents two standalones on one data folder. The operating system releases it with the process.
type dirLock struct{ file *flock.Flock }

func lockDir(dir string) (*dirLock, error) {
	f := flock.New(filepath.Join(dir, lockFile))
	ok, err := f.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	return &dirLock{file: f}, nil
}

func (l *dirLock) release() error { return l.file.Unlock() }

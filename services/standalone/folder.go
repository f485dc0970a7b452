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

	"github.com/gofrs/flock"
	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/shared/tenant"
)

// LocalTenant is the tenant of a standalone's data folder.
const LocalTenant = "local"

const (
	tenantsFile    = "tenants.yaml"
	keyFile        = "api-key"
	connectionFile = "connection.json"
	lockFile       = "standalone.lock"
)

// ErrInUse says that a standalone already runs on the data folder.
var ErrInUse = errors.New("the data folder is in use by a running standalone")

// ErrNotRunning says that no standalone has left its addresses in the data folder.
var ErrNotRunning = errors.New("nothing runs on this data folder")

// Connection is how clients reach a Mneme.
type Connection struct {
	// Utilizer is the base URL of the utilizer.
	Utilizer string `json:"utilizer"`
	// Brokers are the addresses of Kafka.
	Brokers []string `json:"brokers"`
	// Tenant and APIKey say on whose behalf.
	Tenant string `json:"tenant"`
	APIKey string `json:"api_key"`
	// Traces is the trace viewer and OTLP endpoint; empty when there is none.
	Traces string `json:"traces,omitempty"`
}

// save leaves the connection in the data folder, for its owner only, since it holds the key.
func (c Connection) save(dir string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("connection file: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, connectionFile), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("connection file: %w", err)
	}
	return nil
}

// LoadConnection reads what the standalone on a data folder left there. ErrNotRunning when there is nothing.
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

// ensureTenants makes the tenants file and an API key where there are none, and returns the key.
func ensureTenants(dir, policy string) (string, error) {
	keyPath := filepath.Join(dir, keyFile)
	key, err := os.ReadFile(keyPath)
	if err == nil {
		return string(key), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("API key: %w", err)
	}
	secret := make([]byte, 24)
	if _, err := rand.Read(secret); err != nil {
		return "", fmt.Errorf("API key: %w", err)
	}
	fresh := "mneme_" + hex.EncodeToString(secret)
	if policy == "" {
		policy = string(tenant.PolicyEmbedded)
	}
	content, err := yaml.Marshal(map[string]any{"tenants": []map[string]any{{
		"id": LocalTenant, "name": "Local", "strategy": string(tenant.StrategySalimory), "policy": policy,
		"api_keys": []string{tenant.HashKey(fresh)},
	}}})
	if err != nil {
		return "", fmt.Errorf("tenants file: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, tenantsFile), content, 0o600); err != nil {
		return "", fmt.Errorf("tenants file: %w", err)
	}
	// The key comes last: a key without its tenant would never be mended.
	if err := os.WriteFile(keyPath, []byte(fresh), 0o600); err != nil {
		return "", fmt.Errorf("API key: %w", err)
	}
	return fresh, nil
}

// dirLock keeps two standalones from one data folder. The system drops it with the process.
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

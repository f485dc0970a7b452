package harness

import (
	"fmt"
	"os"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/shared/tenant"
)

// Tenant is a customer of the system under test.
type Tenant struct {
	ID string
	// Policy is embedded or llm; empty means embedded.
	Policy tenant.Policy
	// Strategy is the formation strategy; empty means the default one.
	Strategy tenant.Strategy
}

// Key is the tenant's API key.
func (t Tenant) Key() string { return KeyOf(t.ID) }

// KeyOf returns the API key of a tenant.
func KeyOf(id string) string { return "mneme_test_key_of_" + id }

type tenantsFile struct {
	Tenants []tenantEntry `yaml:"tenants"`
}

type tenantEntry struct {
	ID       string   `yaml:"id"`
	Policy   string   `yaml:"policy"`
	Strategy string   `yaml:"strategy,omitempty"`
	APIKeys  []string `yaml:"api_keys"`
}

// writeTenants replaces the tenants file atomically, so that no service reads an incomplete file.
func writeTenants(path string, tenants []Tenant) error {
	var file tenantsFile
	for _, t := range tenants {
		if t.Policy == "" {
			t.Policy = tenant.PolicyEmbedded
		}
		file.Tenants = append(file.Tenants, tenantEntry{
			ID: t.ID, Policy: string(t.Policy), Strategy: string(t.Strategy), APIKeys: []string{tenant.HashKey(t.Key())},
		})
	}
	content, err := yaml.Marshal(file)
	if err != nil {
		return fmt.Errorf("tenants file: %w", err)
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("tenants file: %w", err)
	}
	return os.Rename(path+".new", path)
}

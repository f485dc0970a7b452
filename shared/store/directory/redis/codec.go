package redis

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// tenantBody is the stored form of a tenant, by its id.
type tenantBody struct {
	Name      string              `json:"name,omitempty"`
	Strategy  tenant.Strategy     `json:"strategy,omitempty"`
	Policy    tenant.Policy       `json:"policy,omitempty"`
	Saliency  memory.SaliencyMode `json:"saliency,omitempty"`
	Explore   tenant.Exploration  `json:"explore,omitempty"`
	TalkDays  int                 `json:"talk_days,omitempty"`
	Suspended bool                `json:"suspended,omitempty"`
}

func encodeTenant(t tenant.Tenant) ([]byte, error) {
	body, err := json.Marshal(tenantBody{
		Name: t.Name, Strategy: t.Strategy, Policy: t.Policy, Saliency: t.Saliency, Explore: t.Explore, TalkDays: t.TalkDays,
		Suspended: t.Suspended,
	})
	if err != nil {
		return nil, fault.Terminal("", "encode tenant: %w", err)
	}
	return body, nil
}

// decodeTenant decodes a stored tenant. Its errors are not terminal: no caller caused them, and an operator can
// repair the record.
func decodeTenant(id, body string) (tenant.Tenant, error) {
	var b tenantBody
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return tenant.Tenant{}, fmt.Errorf("decode tenant %q: %w", id, err)
	}
	return tenant.Tenant{
		ID: id, Name: b.Name, Strategy: b.Strategy, Policy: b.Policy, Saliency: b.Saliency, Explore: b.Explore,
		TalkDays: b.TalkDays, Suspended: b.Suspended,
	}, nil
}

// keyBody is the stored form of a key, by its hash. The time of its last use is stored separately.
type keyBody struct {
	ID        string         `json:"id"`
	Tenant    string         `json:"tenant"`
	User      string         `json:"user,omitempty"`
	Name      string         `json:"name,omitempty"`
	Scopes    []access.Scope `json:"scopes,omitempty"`
	CreatedAt time.Time      `json:"created_at"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
}

func encodeKey(k access.Key) ([]byte, error) {
	body, err := json.Marshal(keyBody{
		ID: k.ID, Tenant: k.Tenant, User: k.User, Name: k.Name, Scopes: k.Scopes, CreatedAt: k.CreatedAt.UTC(),
		ExpiresAt: k.ExpiresAt.UTC(),
	})
	if err != nil {
		return nil, fault.Terminal("", "encode key: %w", err)
	}
	return body, nil
}

// decodeKey decodes a stored key. used is in ms, and empty for never.
func decodeKey(hash, body, used string) (access.Key, error) {
	var b keyBody
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return access.Key{}, fmt.Errorf("decode key: %w", err)
	}
	k := access.Key{
		ID: b.ID, Tenant: b.Tenant, User: b.User, Name: b.Name, Scopes: b.Scopes, CreatedAt: b.CreatedAt.UTC(),
		ExpiresAt: b.ExpiresAt.UTC(),
	}
	digits, err := hex.DecodeString(hash)
	if err != nil || len(digits) != len(k.Hash) {
		return access.Key{}, fmt.Errorf("decode key %q: its hash is malformed", b.ID)
	}
	k.Hash = access.Hash(digits)
	if used != "" {
		ms, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			return access.Key{}, fmt.Errorf("decode key %q: the time of its last use: %w", b.ID, err)
		}
		k.LastUsedAt = time.UnixMilli(ms).UTC()
	}
	return k, nil
}

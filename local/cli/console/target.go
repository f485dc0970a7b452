package console

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
)

// Environment variables of a Mneme that runs elsewhere.
const (
	EnvURL     = "MNEME_URL"
	EnvKey     = "MNEME_API_KEY"
	EnvBrokers = "MNEME_KAFKA_BROKERS"
	EnvTenant  = "MNEME_TENANT"
)

// Variables returns the environment variables of the command line. Some commands also read settings of services.
func Variables() []string { return []string{EnvURL, EnvKey, EnvBrokers, EnvTenant} }

// Target is the Mneme that a command calls. Flags come first, then the environment, then the data folder of `mneme
// up`.
type Target struct {
	url, key, tenant string
	brokers          []string
}

func (t *Target) flags(f *pflag.FlagSet) {
	f.StringVar(&t.url, "url", "", "base URL of the gateway (or "+EnvURL+"); default: the local Mneme of --data")
	f.StringVar(&t.key, "key", "", "API key; prefer "+EnvKey+", because other users of the machine can see flags")
	f.StringSliceVar(&t.brokers, "brokers", nil, "Kafka brokers, host:port (or "+EnvBrokers+")")
	f.StringVar(&t.tenant, "tenant", "", "tenant of the API key (or "+EnvTenant+")")
}

// TenantID returns the tenant of the flag or the environment; empty if neither names one.
func (t Target) TenantID() string { return cmp.Or(t.tenant, os.Getenv(EnvTenant)) }

// Resolve returns the connection of the Mneme to call. A named URL wins over the data folder dir, unless it is the
// URL of the Mneme that runs on the folder. The folder's key is sent to the folder's addresses only.
func (t Target) Resolve(dir string) (standalone.Connection, error) {
	url := strings.TrimSuffix(cmp.Or(t.url, os.Getenv(EnvURL)), "/")
	c := standalone.Connection{
		Gateway: url, Utilizer: url, Reranker: url, // the gateway passes on calls of the services
		APIKey: cmp.Or(t.key, os.Getenv(EnvKey)), Tenant: t.TenantID(), Brokers: t.brokers,
	}
	if list := os.Getenv(EnvBrokers); len(c.Brokers) == 0 && list != "" {
		c.Brokers = strings.Split(list, ",")
	}
	local, err := standalone.LoadConnection(dir)
	switch {
	case err == nil && (url == "" || url == local.Gateway):
		return resolveLocal(c, local)
	case url == "":
		return c, fmt.Errorf("no address: %w (looked for --url, %s, and in the folder %q)", err, EnvURL, dir)
	case c.APIKey == "":
		return c, command.Usage(fmt.Errorf("--url (or %s) needs --key (or %s)", EnvURL, EnvKey))
	}
	return c, nil
}

// resolveLocal returns the connection of the local Mneme, with the key and the brokers that were named.
func resolveLocal(named, local standalone.Connection) (standalone.Connection, error) {
	otherKey := named.APIKey != "" && named.APIKey != local.APIKey
	// The folder's key belongs to the folder's tenant, even if the environment contains it. A command for another
	// tenant must not change that tenant's users.
	if named.Tenant != "" && named.Tenant != local.Tenant && !otherKey {
		return named, command.Usage(fmt.Errorf(
			"--tenant (or %s) is %q, but the local Mneme's key belongs to the tenant %q: give the other tenant's key with "+
				"--key (or %s)",
			EnvTenant, named.Tenant, local.Tenant, EnvKey))
	}
	if otherKey {
		local.Tenant, local.APIKey = named.Tenant, named.APIKey // the command line does not know the key's tenant
		if local.Gateway != "" {                                // the gateway also accepts keys made at run time
			local.Utilizer, local.Reranker = local.Gateway, local.Gateway
		}
	}
	if len(named.Brokers) > 0 {
		local.Brokers = named.Brokers
	}
	return local, nil
}

// ResolveGateway is Resolve for commands that call only the gateway.
func (t Target) ResolveGateway(dir string) (standalone.Connection, error) {
	c, err := t.Resolve(dir)
	if err == nil && c.Gateway == "" {
		err = fmt.Errorf("the Mneme of the folder %q runs without a gateway: restart it, or name another gateway with --url",
			dir)
	}
	c.Utilizer, c.Reranker = c.Gateway, c.Gateway
	return c, err
}

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

// Environment variables with the addresses of a remote Mneme.
const (
	EnvAddr     = "MNEME_UTILIZER_URL"
	EnvReranker = "MNEME_RERANKER_URL"
	EnvKey      = "MNEME_API_KEY"
	EnvBrokers  = "MNEME_KAFKA_BROKERS"
	EnvTenant   = "MNEME_TENANT"
	// EnvGateway is the variable with the URL of a remote gateway.
	EnvGateway = "MNEME_GATEWAY_URL"
)

// Target is the Mneme that a command calls. Flags come first, then the environment, then the data folder of `mneme
// up`.
type Target struct {
	addr, reranker, key, tenant string
	brokers                     []string
}

func (t *Target) flags(f *pflag.FlagSet) {
	f.StringVar(&t.addr, "addr", "", "base URL of the utilizer (or "+EnvAddr+")")
	f.StringVar(&t.reranker, "reranker", "", "base URL of the reranker (or "+EnvReranker+")")
	f.StringVar(&t.key, "key", "", "API key; prefer "+EnvKey+", since other users of the machine can see flags")
	f.StringSliceVar(&t.brokers, "brokers", nil, "Kafka brokers, host:port (or "+EnvBrokers+")")
	f.StringVar(&t.tenant, "tenant", "", "tenant that events are published for (or "+EnvTenant+")")
}

// Resolve returns the connection of the Mneme to call.
func (t Target) Resolve(dir string) (standalone.Connection, error) {
	c := standalone.Connection{
		Utilizer: strings.TrimSuffix(cmp.Or(t.addr, os.Getenv(EnvAddr)), "/"),
		Reranker: strings.TrimSuffix(cmp.Or(t.reranker, os.Getenv(EnvReranker)), "/"),
		APIKey:   cmp.Or(t.key, os.Getenv(EnvKey)),
		Tenant:   cmp.Or(t.tenant, os.Getenv(EnvTenant)),
		Brokers:  t.brokers,
	}
	if list := os.Getenv(EnvBrokers); len(c.Brokers) == 0 && list != "" {
		c.Brokers = strings.Split(list, ",")
	}
	if c.Utilizer != "" {
		// The local folder's key is used for local addresses only.
		if c.APIKey == "" {
			return c, command.Usage(fmt.Errorf("--addr (or %s) needs --key (or %s)", EnvAddr, EnvKey))
		}
		return c, nil
	}
	local, err := standalone.LoadConnection(dir)
	if err != nil {
		return c, fmt.Errorf("no address: %w (looked for --addr with --key, %s with %s, and in the folder %q)", err, EnvAddr, EnvKey, dir)
	}
	if c.Tenant != "" && c.Tenant != local.Tenant {
		// The folder's key belongs to the folder's tenant, even if the environment contains it. A command for another
		// tenant must not change that tenant's users.
		if c.APIKey == "" || c.APIKey == local.APIKey {
			return c, command.Usage(fmt.Errorf("--tenant (or %s) is %q, but the local Mneme's key is of the tenant %q: give --key (or %s), too",
				EnvTenant, c.Tenant, local.Tenant, EnvKey))
		}
	}
	if c.APIKey != "" && c.APIKey != local.APIKey {
		local.Tenant = c.Tenant  // the command line does not know the key's tenant
		if local.Gateway != "" { // the gateway also accepts keys made at run time
			local.Utilizer, local.Reranker = local.Gateway, local.Gateway
		}
	}
	local.APIKey = cmp.Or(c.APIKey, local.APIKey)
	if len(c.Brokers) > 0 {
		local.Brokers = c.Brokers
	}
	if c.Reranker != "" && c.APIKey != "" { // the local folder's key is used for local addresses only
		local.Reranker = c.Reranker
	}
	return local, nil
}

// Gateway returns the gateway's connection. The local folder's key is used for local addresses only.
func (t Target) Gateway(flag, dir string) (standalone.Connection, error) {
	c := standalone.Connection{
		Gateway: strings.TrimSuffix(cmp.Or(flag, os.Getenv(EnvGateway)), "/"), APIKey: cmp.Or(t.key, os.Getenv(EnvKey)),
		Tenant: cmp.Or(t.tenant, os.Getenv(EnvTenant)),
	}
	if c.Gateway == "" {
		local, err := standalone.LoadConnection(dir)
		if err != nil {
			return c, fmt.Errorf("no gateway: %w (looked for --gateway with --key, %s with %s, and in the folder %q)", err, EnvGateway, EnvKey, dir)
		}
		c.Gateway, c.APIKey, c.Traces = local.Gateway, cmp.Or(c.APIKey, local.APIKey), local.Traces
		if c.Gateway == "" {
			return c, fmt.Errorf("the Mneme of the folder %q runs without a gateway: start it anew, or name another by --gateway", dir)
		}
	}
	if c.APIKey == "" {
		return c, command.Usage(fmt.Errorf("--gateway (or %s) needs --key (or %s)", EnvGateway, EnvKey))
	}
	c.Utilizer, c.Reranker = c.Gateway, c.Gateway // the gateway passes on calls of the services
	return c, nil
}

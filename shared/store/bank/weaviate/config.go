package weaviate

import (
	"regexp"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// prefixPattern is the form of a collection name's prefix that Weaviate accepts.
var prefixPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// Config configures the access to Weaviate.
type Config struct {
	HTTP    string        `env:"MNEME_WEAVIATE_HTTP" envDefault:"127.0.0.1:8080" desc:"Weaviate's REST address, host:port"`
	GRPC    string        `env:"MNEME_WEAVIATE_GRPC" envDefault:"127.0.0.1:50051" desc:"Weaviate's gRPC address, host:port"`
	TLS     bool          `env:"MNEME_WEAVIATE_TLS" envDefault:"false" desc:"whether both addresses use TLS; certificates are verified"`
	APIKey  config.Secret `env:"MNEME_WEAVIATE_API_KEY" desc:"Weaviate API key; empty for anonymous access"`
	Prefix  string        `env:"MNEME_WEAVIATE_PREFIX" envDefault:"Mneme" desc:"prefix of the collections' names"`
	Timeout time.Duration `env:"MNEME_WEAVIATE_TIMEOUT" envDefault:"10s" desc:"longest wait for one request"`
	// Replicas is the number of nodes that keep each object. It cannot change after the collection is created.
	Replicas int `env:"MNEME_WEAVIATE_REPLICAS" envDefault:"0" desc:"replicas of each object of a new collection; use 3 if one node may fail; an existing collection keeps its number; 0 is the server's default"`
}

// Validate returns an error for the first invalid setting.
func (c Config) Validate() error {
	switch {
	case c.HTTP == "":
		return fault.Terminal("MNEME_WEAVIATE_HTTP", "is empty, want host:port")
	case c.GRPC == "":
		return fault.Terminal("MNEME_WEAVIATE_GRPC", "is empty, want host:port")
	case !prefixPattern.MatchString(c.Prefix):
		return fault.Terminal("MNEME_WEAVIATE_PREFIX", "is %q, want a capital letter and up to 63 letters and digits",
			c.Prefix)
	case c.Timeout <= 0:
		return fault.Terminal("MNEME_WEAVIATE_TIMEOUT", "is %s, want more than 0", c.Timeout)
	case c.Replicas < 0:
		return fault.Terminal("MNEME_WEAVIATE_REPLICAS", "is %d, want 0 or more", c.Replicas)
	}
	return nil
}

func (c Config) scheme() string {
	if c.TLS {
		return "https"
	}
	return "http"
}

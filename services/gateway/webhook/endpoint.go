package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

// Bounds of an endpoint, in bytes.
const (
	maxName = 256
	maxURL  = 2 << 10
)

// rotation is how long the secret before is still signed with.
const rotation = 24 * time.Hour

// secretBytes is how long a secret is, in bytes.
const secretBytes = 32

// Endpoint is an endpoint for a tenant's changes.
type Endpoint = webhooks.Endpoint

// shown is the endpoint without its secrets.
func shown(e Endpoint) Endpoint {
	e.Secret, e.Previous, e.PreviousUntil = "", "", time.Time{}
	return e
}

// wants reports whether an endpoint receives an event.
func wants(e Endpoint, what changeevent.Event) bool {
	return e.Active && (len(e.Types) == 0 || slices.Contains(e.Types, what.Type)) &&
		(e.User == "" || e.User == what.Scope.User)
}

// check returns an error that names the field where an endpoint cannot be; checkURL looks at its URL.
func check(e Endpoint) error {
	if e.Name != "" {
		if err := memory.ValidText("name", e.Name, maxName); err != nil {
			return err
		}
	}
	for _, t := range e.Types {
		if !slices.Contains(changeevent.Types(), t) {
			return problem.Invalid("event_types", "has an unknown type of event")
		}
	}
	return nil
}

// checkURL returns an error that names the invalid part of a URL. It refuses private addresses unless private is
// true. The address of a name is checked at the connection.
func checkURL(address string, private bool) error {
	if err := memory.ValidText("url", address, maxURL); err != nil {
		return err
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return problem.Invalid("url", "is not a URL such as https://example.com/hook")
	case u.Scheme != "https" && (u.Scheme != "http" || !private):
		return problem.Invalid("url", "does not begin with https://")
	case u.User != nil:
		return problem.Invalid("url", "has a user or password")
	case strings.Contains(address, "#"):
		return problem.Invalid("url", "has a fragment, which requests never send")
	case !isPort(u):
		return problem.Invalid("url", "has an invalid port, want 1 to 65535")
	case !private && !mayBePublic(u.Hostname()):
		return problem.Invalid("url", "resolves to an address that is not public")
	}
	return nil
}

// isPort reports whether the port of a URL is valid. A URL without a port has the port of its scheme.
func isPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// newSecret makes a secret. It never fails: without randomness the process ends.
func newSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// shownURL returns an endpoint's URL for logs, without its secret parts.
func shownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

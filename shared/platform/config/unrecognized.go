package config

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Prefix begins the names of the project's own variables.
const Prefix = "MNEME_"

// nearby is the maximum number of wrong characters in a typing mistake.
const nearby = 2

// settings has the names of all settings of all programs, one to a line. Programs share an environment, so a setting
// of another program is no mistake. `make generate` writes the file.
//
//go:embed settings.txt
var settings string

// serviceLink matches the variables that Kubernetes adds for a service, such as MNEME_GATEWAY_SERVICE_HOST.
var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$`)

// Unknown is a variable that no setting uses.
type Unknown struct {
	// Name is the variable that is set.
	Name string
	// Meant is the setting with a similar name, or empty.
	Meant string
}

// String is a sentence for a warning. It has no value, because the value may be a secret.
func (u Unknown) String() string {
	if u.Meant == "" {
		return u.Name + " is not a setting of Mneme"
	}
	return u.Name + " is not a setting of Mneme; did you mean " + u.Meant + "?"
}

// Unrecognized lists, by name, the project's variables in environ that neither a setting in own nor a setting of
// another program of the project uses. It ignores empty variables and the variables that Kubernetes adds.
func Unrecognized(environ map[string]string, own []Row) []Unknown {
	var known []string
	for _, row := range own {
		known = append(known, row.Name)
	}
	known = append(known, strings.Fields(settings)...)
	var unknown []Unknown
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if strings.HasPrefix(name, Prefix) && environ[name] != "" && !slices.Contains(known, name) &&
			!serviceLink.MatchString(name) {
			unknown = append(unknown, Unknown{Name: name, Meant: nearest(name, known)})
		}
	}
	return unknown
}

// nearest returns the most similar known name within nearby characters, or an empty text.
func nearest(name string, known []string) string {
	best, found := nearby+1, ""
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(name, candidate); d < best {
			best, found = d, candidate
		}
	}
	return found
}

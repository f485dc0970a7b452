package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Prefix begins the names of the project's own variables.
const Prefix = "MNEME_"

// nearby is the maximum number of wrong characters in a typing mistake.
const nearby = 2

// Typo is a variable that no setting uses and that resembles a known one.
type Typo struct {
	// Name is the variable that is set.
	Name string
	// Meant is the known variable nearest to it.
	Meant string
}

// String is a sentence for a warning.
func (t Typo) String() string { return t.Name + " is not known, did you mean " + t.Meant + "?" }

// Unrecognized lists, by name, the project's unknown variables in environ that nearly equal a known name. It
// ignores other variables. Services share an environment, and Kubernetes adds MNEME_..._SERVICE_HOST and similar
// variables for every service of that name.
func Unrecognized(environ map[string]string, known []Row) []Typo {
	names := make(map[string]bool, len(known))
	for _, row := range known {
		names[row.Name] = true
	}
	var typos []Typo
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if names[name] || !strings.HasPrefix(name, Prefix) {
			continue
		}
		if meant, ok := nearest(name, known); ok {
			typos = append(typos, Typo{Name: name, Meant: meant})
		}
	}
	return typos
}

func nearest(name string, known []Row) (string, bool) {
	best, found := nearby+1, ""
	for _, row := range known {
		if d := levenshtein.ComputeDistance(name, row.Name); d < best {
			best, found = d, row.Name
		}
	}
	return found, found != ""
}

package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Prefix is what the names of the project's own variables begin with.
const Prefix = "MNEME_"

// nearby is how many characters a typing mistake may have wrong.
const nearby = 2

// Typo is a variable that nobody reads and that looks like a misspelt one.
type Typo struct {
	// Name is the variable that is set.
	Name string
	// Meant is the known variable nearest to it.
	Meant string
}

// String is a sentence for a warning.
func (t Typo) String() string { return t.Name + " is not known, did you mean " + t.Meant + "?" }

// Unrecognized lists, by name, the project's variables in environ that are not among known but
// nearly the same as one of them. Others are passed over: services share an environment, and
// Kubernetes puts MNEME_..._SERVICE_HOST and the like there for every service of that name.
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

package config

import (
	"maps"
	"slices"
	"strings"
)

// Prefix is what the names of the project's own variables begin with.
const Prefix = "MNEME_"

// nearby is how many letters a typing mistake may have wrong.
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
		if d := distance(name, row.Name); d < best {
			best, found = d, row.Name
		}
	}
	return found, found != ""
}

// distance is Levenshtein's: the least number of letters inserted, deleted or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

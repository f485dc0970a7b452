package evaluation

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Report is a tally in shares of 0 to 1 and means per user.
type Report struct {
	// KeptEvidence is the share of evidence turns that pass the filter, DroppedShare that of all turns that do not.
	KeptEvidence float64 `json:"kept_evidence"`
	DroppedShare float64 `json:"dropped_share"`
	// Containment is the share of short answers that the memories of their evidence turns hold in full.
	Containment float64 `json:"containment"`
	// Questions is how many were asked for that.
	Questions int `json:"questions"`
	// Duplicates counts active entries that say what another active one says.
	Duplicates int `json:"duplicates"`
	// Updates is how many updates there should be; UpdateHits the share that reached the right entry.
	Updates    int     `json:"updates"`
	UpdateHits float64 `json:"update_hits"`
	// Closings counts operations that closed an entry; WrongUpdates is the share that closed what still holds.
	Closings     int     `json:"closings"`
	WrongUpdates float64 `json:"wrong_updates"`
	// MemoriesPerUser is the mean number of active entries, SlottedShare the share of them that fill a slot.
	MemoriesPerUser float64 `json:"memories_per_user"`
	SlottedShare    float64 `json:"slotted_share"`
	// Users and Turns are what was measured on.
	Users int `json:"users"`
	Turns int `json:"turns"`
	// Kinds of active entries, and Operations decided, by name.
	Kinds      map[string]int `json:"memories_per_kind"`
	Operations map[string]int `json:"operations_per_kind"`
}

// Report returns the shares. A share of nothing is 0.
func (t *Tally) Report() Report {
	r := Report{
		KeptEvidence: share(t.KeptEvidence, t.Evidence), DroppedShare: share(t.DroppedTurns, t.Turns),
		Containment: share(t.Contained, t.Asked), Questions: t.Asked, Duplicates: t.Duplicates,
		Updates: t.Updates, UpdateHits: share(t.UpdateHits, t.Updates),
		Closings: t.Closings, WrongUpdates: share(t.WrongClosings, t.Closings),
		MemoriesPerUser: share(t.Active, t.Users), SlottedShare: share(t.Slotted, t.Active),
		Users: t.Users, Turns: t.Turns, Kinds: map[string]int{}, Operations: map[string]int{},
	}
	for k, n := range t.Kinds {
		r.Kinds[string(k)] = n
	}
	for k, n := range t.Operations {
		r.Operations[string(k)] = n
	}
	return r
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Render writes the report as a table of two columns.
func (r Report) Render(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(tw, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("users", "%d", r.Users)
	row("turns", "%d", r.Turns)
	row("turns dropped by the filter", "%s", percent(r.DroppedShare))
	row("evidence turns kept", "%s", percent(r.KeptEvidence))
	row("answers contained", "%s of %d", percent(r.Containment), r.Questions)
	row("duplicates among active", "%d", r.Duplicates)
	row("updates that hit", "%s of %d", percent(r.UpdateHits), r.Updates)
	row("updates that were wrong", "%s of %d", percent(r.WrongUpdates), r.Closings)
	row("memories per user", "%.1f", r.MemoriesPerUser)
	row("memories with a slot", "%s", percent(r.SlottedShare))
	for _, k := range slices.Sorted(maps.Keys(r.Kinds)) {
		row("  "+k, "%d", r.Kinds[k])
	}
	for _, k := range slices.Sorted(maps.Keys(r.Operations)) {
		row("  "+k, "%d", r.Operations[k])
	}
	return tw.Flush()
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

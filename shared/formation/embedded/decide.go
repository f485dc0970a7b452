package embedded

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/constraint"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Reasons of operations; they hold no conversation text.
const (
	reasonNew    = "new"
	reasonKnown  = "already known"
	reasonChange = "tells what changed"
	// ReasonPart is of what changes a part of the entry that it links first: the entry stays for the rest.
	ReasonPart = "changes a part of an entry, which stays for the rest"
	// ReasonRest marks the new version of an entry that keeps the rest after a part has changed.
	ReasonRest = "what is left of an entry of which a part changed"
	// ReasonEnd is of what takes the place of an entry because it says that it is over.
	ReasonEnd   = "tells that it is over"
	reasonMaybe = "may change an entry, which stays"
	reasonOlder = "older than what is known"
)

const (
	// surelySame is the probability of saying the same from which nothing is written.
	surelySame = 0.7
	// maxClosed and maxLinked bound how many entries one statement closes, and names as uncertain.
	maxClosed = 4
	maxLinked = 3
)

// Decide goes through the candidates in order, and later candidates see the entries of earlier ones. In doubt it adds:
// a wrong update loses a correct entry, and a duplicate only costs space.
func (f *Former) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	d := decider{
		former: f, judges: f.judge(), session: in.Session, turns: map[string]memory.Turn{},
		of: map[string][]formation.Related{}, closed: map[string]bool{}, judged: map[string]turnJudged{},
	}
	for _, t := range in.Session.Turns {
		d.turns[t.ID] = t
	}
	said := map[string]statements{}
	for _, t := range in.Session.Turns {
		said[t.ID] = statementsOf(t)
	}
	for _, r := range in.Related {
		if c := r.Candidate; len(c.Sources) > 0 && !said[c.Sources[0]].passOn(c) {
			d.of[c.Sources[0]] = append(d.of[c.Sources[0]], r)
		}
	}
	for _, r := range in.Related {
		if err := ctx.Err(); err != nil {
			return formation.Verdict{}, fmt.Errorf("decide operations: %w", err)
		}
		if err := d.decide(r); err != nil {
			return formation.Verdict{}, err
		}
	}
	return formation.Verdict{Operations: d.ops}, nil
}

// decider is the state of one Decide.
type decider struct {
	former  *Former
	judges  Judge
	session formation.Session
	turns   map[string]memory.Turn
	// of has the candidates of each turn with their related entries.
	of map[string][]formation.Related
	// fresh are the entries written so far, closed those that no longer hold.
	fresh  []memory.Memory
	closed map[string]bool
	ops    []memory.Operation
	// judged has the effect of each turn on the entries; see judge.
	judged map[string]turnJudged
}

func (d *decider) decide(r formation.Related) error {
	c := r.Candidate
	if len(c.Sources) == 0 {
		return fault.Terminal("candidate.sources", "is empty, want at least one turn id")
	}
	turn, ok := d.turns[c.Sources[0]]
	if !ok {
		return fault.Terminal("candidate.sources", "names a turn that is not in the session")
	}
	op := memory.Operation{Kind: memory.OpAdd, Sources: slices.Clone(c.Sources), Reason: reasonNew}
	entry := d.entry(c, turn.Time)
	known := d.known(r.Memories)
	talk, isTalk := repeated(c, known)
	// a memory takes the place of equal talk
	if isTalk = isTalk && talk.Tier != c.Tier && c.Tier == memory.TierMemory; isTalk {
		known = slices.DeleteFunc(known, func(m memory.Memory) bool { return m.ID == talk.ID })
	}
	if m, ok := repeated(c, known); ok {
		if m.EventTime.Time.Equal(c.EventTime.Time) || c.Kind != memory.KindEpisodic {
			op.Kind, op.Targets, op.Reason = memory.OpNone, []string{m.ID}, reasonKnown
			d.ops = append(d.ops, op)
			return nil
		}
		entry.Content += " (" + turn.Time.Format(time.DateOnly) + ")" // it happened again: no two entries read alike
	}
	if turn.Role != memory.RoleAssistant && !foreign(c) {
		d.relate(&op, &entry, c, turn, known)
	}
	if isTalk && op.Kind == memory.OpAdd && op.Until.IsZero() {
		op.Kind, op.Targets, op.Reason = memory.OpUpdate, []string{talk.ID}, reasonKnown
	}
	isChanged := func(m memory.Memory) bool { return m.Tier == memory.TierMemory && slices.Contains(op.Targets, m.ID) }
	if op.Reason == ReasonPart || slices.ContainsFunc(known, isChanged) {
		entry.Tier = memory.TierMemory // a change of a memory is one
	}
	if op.Kind != memory.OpNone {
		op.New, op.Anew = &entry, op.Kind != memory.OpAdd
		if op.Until.IsZero() {
			d.fresh = append(d.fresh, entry)
		}
		for _, id := range op.Targets {
			d.closed[id] = true
		}
	}
	d.ops = append(d.ops, op)
	return nil
}

// known returns the entries to compare with a candidate: first the valid related ones, nearest first, then the entries
// written earlier.
func (d *decider) known(related []memory.Memory) []memory.Memory {
	var out []memory.Memory
	seen := map[string]bool{}
	for _, m := range slices.Concat(related, d.fresh) {
		if !d.closed[m.ID] && !seen[m.ID] && m.Status == memory.StatusActive {
			seen[m.ID] = true
			out = append(out, m)
		}
	}
	return out
}

// repeated returns the entry that says the same, word for word. Contractions and small numbers make no difference.
func repeated(c formation.Candidate, known []memory.Memory) (memory.Memory, bool) {
	words := wording(c.Content)
	i := slices.IndexFunc(known, func(m memory.Memory) bool {
		return m.Speaker == c.Speaker && wording(m.Content) == words
	})
	if i < 0 || words == "" {
		return memory.Memory{}, false
	}
	return known[i], true
}

// judged is a known entry with the effect of the statement on it.
type judged struct {
	memory.Memory
	relation.Relation
}

// relate decides the effect of a person's statement on that person's earlier statements.
func (d *decider) relate(
	op *memory.Operation, entry *memory.Memory, c formation.Candidate, turn memory.Turn, known []memory.Memory,
) {
	own, does := bySpeaker(known, c), d.judge(turn)
	for _, m := range own {
		if isRunOf(c.Content, m.Content) && d.saysSame(*entry, m) {
			op.Kind, op.Targets, op.Reason = memory.OpNone, []string{m.ID}, reasonKnown
			return
		}
	}
	if does.each[c.Content] == nil {
		return // words that are not surely the user's
	}
	if m, anew, ok := d.retold(c, turn, own); ok {
		op.Kind, op.Targets, op.Reason = memory.OpNone, []string{m.ID}, reasonKnown
		if anew {
			op.Kind = memory.OpUpdate
		}
		return
	}
	if op.Until = d.endedBefore(c, turn, own); !op.Until.IsZero() {
		op.Reason = reasonOlder
		return
	}
	changed, linked := d.findChanges(c, turn, own, does)
	targets, linked := d.divide(changed, linked, c, turn)
	op.Targets = targets
	for _, j := range linked[:min(len(linked), maxLinked)] {
		entry.Links = append(entry.Links, j.ID)
	}
	switch {
	case len(targets) > 0 && changed[0].Relation[relation.Ends] > changed[0].Relation[relation.Replaces]:
		op.Kind, op.Reason = memory.OpUpdate, ReasonEnd
	case len(targets) > 0:
		op.Kind, op.Reason = memory.OpUpdate, reasonChange
	case len(changed) > 0 && len(linked) > 0:
		op.Reason = ReasonPart
	case len(linked) > 0:
		op.Reason = reasonMaybe
	}
	if len(targets) > 1 {
		op.Kind = memory.OpMerge
	}
}

// findChanges decides which of the speaker's entries a statement changes, and to which it links as uncertain.
func (d *decider) findChanges(
	c formation.Candidate, turn memory.Turn, own []memory.Memory, does turnJudged,
) (changed, linked []judged) {
	whole := 0.0 // the probability that an entry is changed, whichever it is
	for _, m := range own {
		whole += does.each[c.Content][m.ID].Change()
	}
	for _, m := range own {
		if does.by[m.ID] != c.Content || turn.Time.Before(m.ValidFrom) {
			continue // another statement changes it, or a later turn made it
		}
		r := does.each[c.Content][m.ID]
		if r.Change() >= d.former.links && isOtherTopic(d.message(c), m.Content) {
			continue
		}
		may := r.Change() >= relation.LeastOwn || r.Change() >= alsoChanged && does.alone[m.ID] >= d.former.closes
		switch d.former.choose.Choose(decision.Change, d.former.changes(c, m, r, whole, may)) {
		case replaces:
			changed = append(changed, judged{m, r})
		case links:
			linked = append(linked, judged{m, r})
		}
	}
	later := ""
	if len(changed) > 0 {
		later = d.message(c)
	}
	sure := func(j judged) float64 { return j.Change() + leadOf(later, j.Content) }
	slices.SortStableFunc(changed, func(a, b judged) int { return cmp.Compare(sure(b), sure(a)) })
	return changed, linked
}

// consuming verbs are no topic of a limit: "I can't eat gluten", "I no longer eat meat".
var consuming = text.StemSet("eat ate eating drink drank drinking take have")

// isOtherTopic reports whether an entry is a limit, and a statement has no content word of it: "I no longer eat meat"
// ends no allergy.
func isOtherTopic(said, entry string) bool {
	if len(Facts(entry)) > 1 || !constraint.Binds(entry) {
		return false
	}
	all := text.StemSet(entry)
	topic := maps.Clone(all)
	maps.DeleteFunc(topic, func(stem string, _ bool) bool { return consuming[stem] })
	if len(topic) == 0 { // "I don't drink."
		topic = all
	}
	return !slices.ContainsFunc(text.ContentStems(said), func(stem string) bool { return topic[stem] })
}

// divide returns the entries that a statement closes, and the entries that it links to, the likeliest first. An entry
// of which a part stays comes first. Several entries are closed if they state the same, or if the statement surely ends
// each.
func (d *decider) divide(
	changed, linked []judged, c formation.Candidate, turn memory.Turn,
) (closed []string, links []judged) {
	later := relation.Statement{Role: turn.Role, Speaker: c.Speaker, Time: turn.Time}
	if len(changed) > 0 {
		later.Text = d.message(c)
	}
	var part *judged // whose rest stays
	for i, j := range changed {
		if i > 0 && (part != nil || len(closed) == 0 || len(closed) >= maxClosed ||
			!d.saysSame(j.Memory, changed[0].Memory) && !d.endsWith(later, j.Memory)) {
			linked = append(linked, j)
			continue
		}
		rest, entire := d.remainder(j, c, turn)
		switch {
		case entire:
			closed = append(closed, j.ID)
		case rest == "" || i > 0:
			linked = append(linked, j)
		default:
			part = &judged{d.writeRemainder(j.Memory, rest, c, turn), j.Relation}
		}
	}
	slices.SortStableFunc(linked, func(a, b judged) int { return cmp.Compare(b.Change(), a.Change()) })
	if part != nil {
		linked = slices.Insert(linked, 0, *part)
	}
	return closed, linked
}

// endedBefore returns the time at which the statement of an older turn ceased to hold: the time of the first later
// entry that would have closed it. It returns the zero time where no entry would.
func (d *decider) endedBefore(c formation.Candidate, turn memory.Turn, own []memory.Memory) (until time.Time) {
	said := relation.Statement{Text: plain(c.Content), Role: turn.Role, Speaker: c.Speaker, Time: turn.Time}
	for i, later := range asStored(own) {
		at := own[i].ValidFrom
		if !turn.Time.Before(at) || !until.IsZero() && !at.Before(until) {
			continue
		}
		does := d.judges.Judge(later, []relation.Statement{said})[0]
		if does.Change() < d.former.closes || isOtherTopic(later.Text, said.Text) {
			continue
		}
		list := Facts(said.Text)
		if len(list) < 2 {
			until = at
			continue
		}
		rest, sure := Without(said.Text, GoneFrom(said.Text, later.Text, d.judges.Gone(later, list)))
		if sure && !slices.ContainsFunc(d.former.parts(rest), hasSubject) { // words without a subject end with the rest
			until = at
		}
	}
	return until
}

// bySpeaker are the entries that the speaker of a candidate told, in other turns.
func bySpeaker(known []memory.Memory, c formation.Candidate) []memory.Memory {
	return slices.DeleteFunc(slices.Clone(known), func(m memory.Memory) bool {
		return m.Speaker != "" && m.Speaker != c.Speaker || slices.Contains(m.Sources, c.Sources[0])
	})
}

// saysSame decides whether an entry says again what another says: it is changed with it. Of others only the likeliest
// is.
func (d *decider) saysSame(m, of memory.Memory) bool {
	stored := asStored([]memory.Memory{m, of})
	same := d.judges.Between(stored[0], stored[1])[relation.Same]
	return decision.Either(d.former.choose, decision.Join, decision.Above(same, surelySame), func() []float64 {
		whole := 0.0
		if isRunOf(m.Content, of.Content) {
			whole = 1
		}
		return []float64{1, decision.Odds(same) / 5, memory.Cosine(m.Vector, of.Vector), whole}
	})
}

func asStored(entries []memory.Memory) []relation.Statement {
	out := make([]relation.Statement, len(entries))
	for i, m := range entries {
		out[i] = relation.Statement{Text: plain(m.Content), Role: memory.RoleUser, Speaker: m.Speaker, Time: m.ValidFrom}
	}
	return out
}

// isRunOf reports whether a statement is a run of words of another. A word between them ("not") may reverse the
// meaning.
func isRunOf(said, of string) bool {
	words := text.Canonical(plain(said))
	return words != "" && strings.Contains(" "+text.Canonical(plain(of))+" ", " "+words+" ")
}

// note is a day that was put behind an expression of time.
var note = regexp.MustCompile(` \((?:week of |weekend of |[a-z]+ )?\d{4}(?:-\d{2}){0,2}\)`)

// plain is a content without the days that were added to it.
func plain(content string) string { return note.ReplaceAllString(content, "") }

func (d *decider) entry(c formation.Candidate, at time.Time) memory.Memory {
	sources := slices.Clone(c.Sources)
	slices.Sort(sources)
	return memory.Memory{
		ID: memory.DeriveID(d.session.Scope, c.Sources, c.Ordinal), Kind: c.Kind, Content: c.Content,
		Speaker: c.Speaker, Topic: c.Topic, Tier: c.Tier, Slot: c.Slot, Keywords: slices.Clone(c.Keywords),
		EventTime: c.EventTime, ValidFrom: at, Status: memory.StatusActive, Sources: slices.Compact(sources),
		SessionID: d.session.ID, Strategy: d.former.identity.Strategy,
		PolicyVersion: d.former.identity.PolicyVersion, Vector: c.Vector,
	}
}

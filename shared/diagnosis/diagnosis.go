// Package diagnosis names the stage that lost a statement on its way into an answer. It is pure: evidence goes in
// as data, and a finding with figures comes out. A finding has no text of a user.
package diagnosis

import (
	"fmt"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Evidence is the known history of one expected item. It has the turn with the item, the memories made from that
// turn, and how far those memories came in one recall.
type Evidence struct {
	// TurnID is the turn. It is empty for an expected text that no kept turn contains.
	TurnID string
	// Dropped is the filter's decision to drop the turn, or nil if unknown. It counts only where no later stage of
	// the turn is known.
	Dropped *memory.Dropped
	// Saliency is the filter's decision on a consolidated turn. It is zero if unknown.
	Saliency memory.SaliencyDecision
	// Kept says that the turn was consolidated.
	Kept bool
	// Pending says that the turn waits in working memory for consolidation.
	Pending bool
	// Memories are the entries made from the turn, in every state and tier. For an expected text they are the entries
	// that contain it.
	Memories []Memory
	// Silent counts the memories made from the turn without the expected text. It is used only for an expected text.
	Silent int
	// Uncited says that the profile contains the item, or a text made from it, without a citation. The place is the
	// core block or a recent turn.
	Uncited bool
	// Past says that the query asks about the past. For such a query a memory that no longer holds is not lost.
	Past bool
	// Candidates counts the retrieved memories. Places counts the memories that the reranker kept.
	Candidates, Places int
	// Abstained says that the answer reports no knowledge in memory.
	Abstained bool
	// Verdict says whether the answer has the item, where a judgement exists. Otherwise the citations of the answer
	// decide.
	Verdict Verdict
}

// Memory describes how far an entry came in a recall.
type Memory struct {
	// ID is the id of the entry.
	ID string
	// Tier is the tier of the entry.
	Tier memory.Tier
	// Status says whether the memory holds.
	Status memory.Status
	// Retrieved is its rank in retrieval, from 1. It is 0 for a memory that was not retrieved.
	Retrieved int
	// Ranked is its rank among the memories that the reranker kept, from 1. It is 0 for a memory that was cut.
	Ranked int
	// Floored says that the relevance floor removed it after the reranker kept it.
	Floored bool
	// Unmatched says that the memory does not match the filter of the recall.
	Unmatched bool
	// Shown says that the profile cites it. Cited says that the answer cites it.
	Shown, Cited bool
}

// Verdict is a judgement on an answer.
type Verdict int

// The verdicts.
const (
	Unjudged Verdict = iota
	Right
	Wrong
)

// Finding is the result for one expected item.
type Finding struct {
	// TurnID is the turn, if known.
	TurnID string
	// Stage is the earliest stage that lost the item, or Answered.
	Stage Stage
	// Reason gives the cause with the figures of the stage. It has no text of the user.
	Reason string
	// MemoryIDs are the memories of the evidence.
	MemoryIDs []string
	// Retrieved and Ranked are the best ranks of those memories, from 1. They are 0 where no memory has a rank.
	Retrieved, Ranked int
}

// Diagnose names the earliest stage that failed. Of several memories the farthest one counts, because one memory is
// enough for an answer.
func Diagnose(e Evidence) Finding {
	f := Finding{TurnID: e.TurnID}
	for _, m := range e.Memories {
		f.MemoryIDs = append(f.MemoryIDs, m.ID)
		f.Retrieved, f.Ranked = better(f.Retrieved, m.Retrieved), better(f.Ranked, m.Ranked)
	}
	f.Stage = e.stage(f)
	f.Reason = e.reason(f)
	if f.Stage != Answered && e.talkAlone() {
		f.Reason += "; it is kept as talk, and no memory was made of it"
	}
	return f
}

// better returns the better of two ranks.
func better(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// stage goes back from the answer to the last stage that the item reached. The stage after it has failed.
func (e Evidence) stage(f Finding) Stage {
	switch {
	case e.Verdict == Right, e.Verdict == Unjudged && e.has(func(m Memory) bool { return m.Cited }):
		return Answered
	case e.Uncited, e.has(func(m Memory) bool { return m.Shown }):
		return Generator
	case f.Ranked > 0, e.has(func(m Memory) bool { return m.Floored }):
		return LeftOutOfProfile
	case f.Retrieved > 0:
		return CutByReranker
	case e.has(func(m Memory) bool {
		return e.Past && m.Status != memory.StatusQuarantined || m.Status == memory.StatusActive
	}):
		return NotRetrieved
	case len(e.Memories) > 0:
		return LostInUpdate
	case e.Kept:
		return NotExtracted
	case e.Dropped != nil && !e.Pending:
		return DroppedByFilter
	}
	return NotIngested
}

func (e Evidence) has(is func(Memory) bool) bool { return e.count(is) > 0 }

func (e Evidence) count(is func(Memory) bool) int {
	n := 0
	for _, m := range e.Memories {
		if is(m) {
			n++
		}
	}
	return n
}

// talkAlone reports whether all entries of the evidence are talk.
func (e Evidence) talkAlone() bool {
	return len(e.Memories) > 0 && !e.has(func(m Memory) bool { return m.Tier != memory.TierTalk })
}

// noun names the entries of the evidence.
func (e Evidence) noun() string {
	if e.talkAlone() {
		return "pieces of talk"
	}
	return "memories"
}

func (e Evidence) reason(f Finding) string {
	switch f.Stage {
	case NotIngested:
		if e.Pending {
			return "the turn waits in working memory and has not been consolidated yet"
		}
		if e.TurnID == "" {
			return "no kept turn and no memory tells it. The filter may have dropped a turn that tells it. " +
				"Texts of dropped turns are not kept, so expect the id of the turn instead"
		}
		return "no turn that tells it was consolidated, waits in working memory or is known as dropped"
	case DroppedByFilter:
		d := e.Dropped
		return fmt.Sprintf("the filter %s scored the turn %.3f, below its threshold of %.3f", d.PolicyVersion, d.Score,
			d.Threshold)
	case NotExtracted:
		if e.Silent > 0 {
			return fmt.Sprintf("the turn was kept, and of the memories made from it (%d) none says it", e.Silent)
		}
		return "the turn was kept, and no memory was made from it" + e.marked()
	case LostInUpdate:
		in := func(s memory.Status) int { return e.count(func(m Memory) bool { return m.Status == s }) }
		if n := in(memory.StatusQuarantined); n > 0 {
			return fmt.Sprintf("of the %s that tell it (%d) %d are quarantined, and none is active", e.noun(), len(e.Memories),
				n)
		}
		return fmt.Sprintf("the %s that tell it (%d) no longer hold: %d superseded, %d retracted",
			e.noun(), len(e.Memories), in(memory.StatusSuperseded), in(memory.StatusRetracted))
	case NotRetrieved:
		if n := e.count(func(m Memory) bool { return m.Unmatched }); n > 0 {
			return fmt.Sprintf("of the %s that tell it (%d) the recall's filter leaves out %d, and none is among the "+
				"%d candidates",
				e.noun(), len(e.Memories), n, e.Candidates)
		}
		return fmt.Sprintf("none of the %s that tell it (%d) is among the %d candidates", e.noun(), len(e.Memories),
			e.Candidates)
	case CutByReranker:
		return fmt.Sprintf("retrieved at place %d of %d, and not among the %d that were ranked first", f.Retrieved,
			e.Candidates, e.Places)
	case LeftOutOfProfile:
		if f.Ranked == 0 {
			return "the reranker kept it, and the relevance floor left it out: the request hardly needs it (MNEME_RECALL_FLOOR)"
		}
		return fmt.Sprintf("ranked at place %d of %d, and not cited by the profile", f.Ranked, e.Places)
	case Generator:
		return e.generatorReason()
	}
	return "the answer uses it"
}

// marked describes the filter's objection to a turn that passed.
func (e Evidence) marked() string {
	d := e.Saliency
	if d.Mode != memory.SaliencyMark || d.Salient {
		return ""
	}
	return fmt.Sprintf("; the filter %s, which only marks, scored it %.3f, below its threshold of %.3f", d.PolicyVersion,
		d.Score, d.Threshold)
}

func (e Evidence) generatorReason() string {
	switch {
	case e.Abstained:
		return "the profile tells it, and the answer is that memory does not"
	case e.Verdict == Unjudged && !e.has(func(m Memory) bool { return m.Shown }):
		return "the profile tells it without a citation, so citations do not show whether the answer uses it: expect " +
			"it in words"
	}
	return "the profile tells it, and the answer does not use it"
}

// Stage is a stage that can lose a statement, in order. The contract uses the same numbers.
type Stage int

// The stages. The stages up to LostInUpdate are errors of memory. The stages up to LeftOutOfProfile are errors of
// the profile. Generator is the error of generation (the gated cascade of SaliMory).
const (
	// Unspecified is the stage for an empty expectation.
	Unspecified Stage = iota
	// NotIngested: no known turn contains it, or the turn is still on its way.
	NotIngested
	// DroppedByFilter: the saliency filter dropped the turn.
	DroppedByFilter
	// NotExtracted: no memory was made from the turn, or no memory that contains it.
	NotExtracted
	// LostInUpdate: the memories that contain it no longer hold.
	LostInUpdate
	// NotRetrieved: the search of the bank did not find it.
	NotRetrieved
	// CutByReranker: the reranker ranked other memories higher.
	CutByReranker
	// LeftOutOfProfile: it is not in the profile.
	LeftOutOfProfile
	// Generator: it was in the profile, and the answer does not use it.
	Generator
	// Answered: it is in the answer.
	Answered
)

// String returns the stage in words.
func (s Stage) String() string {
	switch s {
	case NotIngested:
		return "not ingested"
	case DroppedByFilter:
		return "dropped by the filter"
	case NotExtracted:
		return "not extracted"
	case LostInUpdate:
		return "lost in an update"
	case NotRetrieved:
		return "not retrieved"
	case CutByReranker:
		return "cut by the reranker"
	case LeftOutOfProfile:
		return "left out of the profile"
	case Generator:
		return "generator"
	case Answered:
		return "answered"
	}
	return "unspecified"
}

// Stages returns all stages, in order.
func Stages() []Stage {
	return []Stage{
		NotIngested, DroppedByFilter, NotExtracted, LostInUpdate, NotRetrieved, CutByReranker, LeftOutOfProfile, Generator,
		Answered,
	}
}

// Earliest returns the earliest stage of the findings, or Unspecified for an empty list.
func Earliest(findings []Finding) Stage {
	earliest := Unspecified
	for _, f := range findings {
		if earliest == Unspecified || f.Stage < earliest {
			earliest = f.Stage
		}
	}
	return earliest
}

package guard

import (
	"regexp"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

var (
	// recalledTag is the start of a block of recalled memories in the form of XML.
	recalledTag = regexp.MustCompile(`(?i)^<([a-z_-]*(?:memor|recall)[a-z_-]*)(?:\s[^<>]*)?>`)
	// recalledItem is a line of recalled memories: an item of a list, a citation at the end, or the name of a section.
	recalledItem = regexp.MustCompile(`^\s*(?:[-*•]\s|\d+[.)]\s|[a-z ]{1,20}:$)|\[\d+\]$`)
	// askedLabel stands between recalled memories and the user's words.
	askedLabel = regexp.MustCompile(`(?i)^(?:(?:the )?(?:user|current|new)(?:'s)? )?(?:query|question|message|input|request|user)\s*:\s*`)
)

// A heading of recalled memories has a word of each set, and no word of the user's own.
var (
	recalledWords  = text.WordSet("memories memory remember know known recalled")
	recalledAbouts = text.WordSet("user me relevant recalled context stored retrieved past you")
	ownWords       = text.WordSet("i my we our mine i'm i've")
)

// maxHeading is the maximum length of a heading, in words.
const maxHeading = 10

// withoutRecalled returns a user's text without the recalled memories at its start. Programs put these before the
// user's words, and the bank has them already.
func withoutRecalled(said string) string {
	rest := strings.TrimSpace(said)
	for {
		next, ok := cutRecalled(rest)
		if !ok {
			break
		}
		rest = strings.TrimSpace(next)
		rest = rest[len(askedLabel.FindString(rest)):]
	}
	if rest == strings.TrimSpace(said) {
		return said
	}
	return rest
}

// cutRecalled cuts one block of recalled memories off the start of a text.
func cutRecalled(said string) (rest string, ok bool) {
	if tag := recalledTag.FindStringSubmatch(said); tag != nil {
		_, rest, ok = strings.Cut(said, "</"+tag[1]+">")
		return rest, ok
	}
	if strings.HasPrefix(said, "[") {
		inside, rest, ok := strings.Cut(said[1:], "]")
		heading, _, isHeaded := strings.Cut(inside, ":")
		return rest, ok && isHeaded && isHeading(heading)
	}
	line, rest, ok := strings.Cut(said, "\n")
	heading := strings.TrimSpace(strings.Trim(line, "#* \r"))
	if !ok || !strings.HasSuffix(heading, ":") && !strings.HasPrefix(line, "#") || !isHeading(heading) {
		return said, false
	}
	rest = strings.TrimLeft(rest, "\r\n")
	items := 0
	for rest != "" {
		line, behind, _ := strings.Cut(rest, "\n")
		if !recalledItem.MatchString(strings.TrimRight(line, "\r ")) {
			break
		}
		rest = behind
		items++
	}
	return rest, items > 0
}

// isHeading reports whether words introduce recalled memories.
func isHeading(heading string) bool {
	words := text.Words(heading)
	recalls, about := false, false
	for _, w := range words {
		if ownWords[w.Lower] {
			return false
		}
		recalls, about = recalls || recalledWords[w.Lower], about || recalledAbouts[w.Lower]
	}
	return recalls && about && len(words) <= maxHeading
}

// reasonEcho marks an entry that was not written because an assistant only repeated known facts.
const reasonEcho = "an assistant's echo of what is known"

// echoedShare is the least known share of an assistant's text that makes it an echo. An assistant adds other words
// around a recalled fact.
const echoedShare = 0.75

// recalling words introduce a recalled fact.
var recalling = text.StemSet(`told remember recall mentioned know knew since assistant user according earlier previously said says
	tell told talked stated noted right think good great picture`)

// echoes reports whether the known entries already have the content of an entry from an assistant's turns alone.
func echoes(op memory.Operation, speakers map[string]bool, known []memory.Memory) bool {
	matter := map[string]bool{}
	for _, stem := range text.ContentStems(op.New.Content) {
		if !recalling[stem] && !speakers[stem] {
			matter[stem] = true
		}
	}
	if len(matter) == 0 {
		return false
	}
	told := 0
	have := map[string]bool{}
	for _, m := range known {
		for stem := range text.StemSet(m.Content) {
			have[stem] = true
		}
	}
	for stem := range matter {
		if have[stem] {
			told++
		}
	}
	return float64(told) >= echoedShare*float64(len(matter))
}

// fresh turns the entries that an assistant's echo would make into NONE, unless something builds on them.
func (v voices) fresh(ops []memory.Operation, known []memory.Memory) []memory.Operation {
	built := targets(ops)
	for i, op := range ops {
		if op.Kind == memory.OpAdd && !built[op.New.ID] && v.assistants(op.Sources) && echoes(op, v.speakers, known) {
			ops[i] = memory.Operation{Kind: memory.OpNone, Sources: op.Sources, Reason: reasonEcho}
		}
	}
	return ops
}

// shown are the entries that the former was shown.
func shown(in formation.Bundle) []memory.Memory {
	var out []memory.Memory
	for _, r := range in.Related {
		out = append(out, r.Memories...)
	}
	for _, f := range in.Found {
		out = append(out, f.Memories...)
	}
	return out
}

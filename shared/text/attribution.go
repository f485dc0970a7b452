package text

import (
	"regexp"
	"strings"
)

// Parts of an attribution: a date or a time of day, marks and emoji, and a label of a few words or a handle.
const (
	stampMark = `(?:\[[^\]\n]{0,30}\d[^\]\n]{0,30}\]|\(?(?:` + dayName +
		`){0,2}\d[\d:.,/\-]{1,20}(?:[ T\x{202f}]{1,2}\d[\d:.,]{2,12}){0,2}Z?(?:[ \x{202f}]?[aApP]\.?[mM]\.?)?\)?)`
	dayName    = `(?i:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?,? `
	openMarks  = `(?:[^\pL\pN\s\pZ@\[(<>{|"'“‘«:：]{0,8}[\s\pZ]?){0,2}`
	labelWords = `@?[\pL\pN][\pL\pM\pN._;'’@ -]{0,60}?`
	closeMarks = `[^\pL\pN\s\pZ:："'\])]{0,6}`
	emojiLabel = `[\p{So}\p{Sk}\x{200d}\x{fe0f}]{1,8}`
	colonMark  = `(?:[\s\pZ]?:[*_~]*(?:[\s\pZ]+|$)|：)`
)

var (
	// attributed matches the start of a line that names a speaker. Group 1 is a stamp, 2 the label, 3 a stamp after it.
	attributed = regexp.MustCompile(`^[\s\pZ]*(?:(` + stampMark + `)[\s\pZ]*[,–—-]?[\s\pZ]*)?` + openMarks +
		`(` + labelWords + `|` + emojiLabel + `)` +
		`[\s\pZ]?([\[(<][^\])>\n]{1,60}[\])>])?` + closeMarks + colonMark)
	// stampedName matches a separate line above a speaker's words. Group 1 is the label, 2 the stamp.
	stampedName = regexp.MustCompile(`^[\s\pZ]*` + openMarks + `(` + labelWords +
		`)[\s\pZ]*[,–—-]?[\s\pZ]*(?i:(?:today|yesterday)[\s\pZ]+(?:at[\s\pZ]+)?)?` +
		`(` + stampMark + `)[\s\pZ]*$`)
	// dashed is a name before a dash.
	dashed = regexp.MustCompile(`^[\s\pZ]*` + openMarks +
		`(\p{Lu}[\pL\pM'’-]+(?: \p{Lu}[\pL\pM'’-]+)?)` + closeMarks + `[\s\pZ][–—>-][\s\pZ]`)
	clockTime = regexp.MustCompile(`\d:\d\d`)
	dayOrMark = regexp.MustCompile(`\d[-./]\d|[\[(]\d|\pL{3}`)
)

// attribution is the part before words that names their speaker.
type attribution struct {
	label string
	// rest is where the words begin in the line.
	rest int
	// clock says that a time of day stands with it, exported that a date or brackets do, too.
	clock, exported bool
	// unsure says that its marks may be of other things, too.
	unsure bool
}

// mostAttributed is how many bytes of a line an attribution may take.
const mostAttributed = 200

// attributionOf reads the start of a line. ok is false if the line has no label.
func attributionOf(line string) (a attribution, ok bool) {
	head := Cut(line, mostAttributed)
	if at := attributed.FindStringSubmatchIndex(head); at != nil {
		stamp := group(head, at, 1) + " " + group(head, at, 3)
		clock := clockTime.MatchString(stamp)
		return attribution{
			label: strings.TrimSpace(group(head, at, 2)), rest: at[1],
			clock: clock, exported: clock && dayOrMark.MatchString(stamp),
		}, true
	}
	at := stampedName.FindStringSubmatchIndex(head)
	if at != nil && len(line) == len(head) && clockTime.MatchString(group(line, at, 2)) {
		return attribution{label: strings.TrimSpace(group(line, at, 1)), rest: len(line), clock: true}, true
	}
	if at := dashed.FindStringSubmatchIndex(head); at != nil && names()[firstWord(group(head, at, 1))] {
		return attribution{label: group(head, at, 1), rest: at[1], unsure: true}, true
	}
	return a, false
}

func firstWord(s string) string {
	first, _, _ := strings.Cut(foldAccents(strings.ToLower(s)), " ")
	return first
}

func group(s string, at []int, n int) string {
	if at[2*n] < 0 {
		return ""
	}
	return s[at[2*n]:at[2*n+1]]
}

// cells returns the cells of a table's line. It is nil for any other line.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	switch {
	case strings.Contains(line, "\t"):
		return strings.Split(line, "\t")
	case strings.HasPrefix(line, "|"):
		return strings.Split(strings.Trim(line, "|"), "|")
	}
	var out []string
	from := 0
	for i := 0; i < len(line) && len(out) < maxLabelWords; i++ {
		if (line[i] == ',' || line[i] == ';') && i+1 < len(line) && line[i+1] != ' ' {
			out = append(out, line[from:i])
			from = i + 1
		}
	}
	if out == nil {
		return nil
	}
	return append(out, line[from:])
}

// rowLabel reads the label of a table's line. The first cell that is not a stamp is a name, and a later cell speaks
// in the first person.
func rowLabel(line, speaker string) (of label, who string) {
	parts := cells(line)
	if len(parts) < 2 {
		return noLabel, ""
	}
	framed := strings.ContainsAny(line, "\t|")
	for i, c := range parts[:len(parts)-1] {
		c = strings.Trim(c, " \t\"'*_")
		if strings.Trim(c, "0123456789:.,/-TZ ") == "" {
			framed = framed || c != ""
			continue
		}
		a := attribution{label: c, clock: framed, exported: framed}
		of := a.labelOf(strings.Join(parts[i+1:], " "), speaker)
		if of == maybeLabel {
			of = noLabel
		}
		return of, strings.ToLower(c)
	}
	return noLabel, ""
}

package text

import (
	"regexp"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
)

const (
	// leastLogLines is the least number of lines of a log within a message.
	leastLogLines = 3
	// maxBetween is the maximum number of other lines between two lines of a log, such as the message of an error.
	maxBetween = 3
	// maxAround limits the speaker's own words before and behind a pasted text that Mneme shortened, in bytes.
	maxAround = 2 << 10
	// levels are the levels of lines in a log.
	levels = `TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|PANIC`
	// foreignLevels are levels in other languages. In brackets they are surely levels.
	foreignLevels = `FEHLER|WARNUNG|ERREUR|ALERTE|ERRO|AVISO|ALERTA|ERRORE|AVVISO|ОШИБКА|ПРЕДУПРЕЖДЕНИЕ`
)

var (
	// stampedLine is a line of a log that begins with a time of day with seconds.
	stampedLine = regexp.MustCompile(`^[\[(<"\s]{0,3}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|` +
		`\d+\.\d+\]|\d{1,3}(?:\.\d{1,3}){3} - )\S*`)
	// speakerAhead is the name of a speaker behind the time. Group 1 is the name. Group 2 is a name in lower case.
	speakerAhead = regexp.MustCompile(`^[\])>\s–—-]*(\p{Lu}[\p{Ll}\p{M}'’-]+(?: (?:\p{Ll}{1,3} ){0,2}\p{Lu}[\p{L}\p{M}'’-]*){0,3}` +
		`|\p{Lo}[\p{Lo}\p{M} ]*|(\p{Ll}[\p{Ll}\p{M}'’]*))(?::(?:\s|$)|：)`)
	level = regexp.MustCompile(`^(?i:` + levels + `)$`)
	// loggedLine is another line of a log or of a stack trace.
	loggedLine = regexp.MustCompile(`^\[?(?:` + levels + `)\b[\]:\s|]` +
		`|^\[(?:` + foreignLevels + `)\]|^\[\d\d:\d\d:\d\d(?:[.,]\d+)?\]\s*(?:` + levels + `)\b|^npm (?i:ERR!|error|warn)\s` +
		`|^\s+at [\w$.<>/]+\(.*\)|^\s*File ".*", line \d+|^Traceback \(|^Caused by: \S|^goroutine \d+ \[|^(?:level|time|ts|msg)=\S+ |^\s*\{"`)
)

// isLogged reports whether a line is from a log or a stack trace.
func isLogged(line string) bool {
	if at := stampedLine.FindStringIndex(line); at != nil {
		return !isSpoken(line[:at[1]], line[at[1]:])
	}
	return loggedLine.MatchString(line)
}

// isSpoken reports whether a line is from a dialogue: a speaker's name follows the time. A name in lower case may also
// be the name of a process, so it counts only behind a date in brackets.
func isSpoken(stamp, behind string) bool {
	name := speakerAhead.FindStringSubmatch(behind)
	if name == nil || level.MatchString(name[1]) {
		return false
	}
	return name[2] == "" || stamp[0] == '[' && strings.Contains(stamp, ":")
}

// paste is a pasted part of a message, in bytes.
type paste struct{ from, to int }

// messageLine is a line of a message, in bytes.
type messageLine struct {
	from, to               int
	blank, logged, isFence bool
}

func linesOf(message string) []messageLine {
	var out []messageLine
	at, fenced := 0, false
	for l := range strings.Lines(message) {
		trimmed := strings.TrimSpace(l)
		line := messageLine{from: at, to: at + len(l), blank: trimmed == ""}
		line.isFence = strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
		fenced = fenced != line.isFence
		line.logged = !fenced && !line.isFence && isLogged(l)
		out = append(out, line)
		at += len(l)
	}
	return out
}

// pastes returns the pasted parts of a message, in order. unsure is the end of its opening words, if these may be
// pasted, too; otherwise it is 0.
func pastes(message string) (out []paste, unsure int) {
	if _, _, ok := memory.MarkOfShorten(message); ok {
		return pasteOfLong(message)
	}
	if strings.Count(message, "\n") < leastLogLines-1 {
		return nil, 0
	}
	lines := linesOf(message)
	for i := 0; i < len(lines); i++ {
		if !lines[i].logged {
			continue
		}
		count, last := 1, i
		for k := i + 1; k < len(lines) && k-last <= maxBetween && !lines[k].isFence; k++ {
			if lines[k].logged {
				count, last = count+1, k
			}
		}
		if count >= leastLogLines {
			out = append(out, paste{lines[i].from, lines[last].to})
		}
		i = last
	}
	return out, 0
}

// pasteOfLong returns the pasted part of a shortened message, which is too long to be typed. The speaker's own words
// are a short first paragraph, and a short last paragraph behind a log. A first paragraph before another text may be
// pasted, too, unless it announces the text.
func pasteOfLong(message string) (out []paste, unsure int) {
	lines := linesOf(message)
	opens := 0
	for opens < len(lines) && !lines[opens].blank && !lines[opens].logged && !lines[opens].isFence {
		opens++
	}
	from := lines[min(opens, len(lines)-1)].from
	if from > maxAround { // the text follows without an empty line
		opens, from = 1, lines[0].to
	}
	if from > maxAround {
		from = 0
	}
	next := opens
	for next < len(lines) && lines[next].blank {
		next++
	}
	isMachines := next < len(lines) && (lines[next].logged || lines[next].isFence)
	if opening := strings.TrimSpace(message[:from]); !isMachines && !strings.HasSuffix(opening, "?") &&
		!endsWithColon(opening) {
		unsure = from
	}
	return []paste{{from, closingOf(message, lines, opens)}}, unsure
}

// closingOf returns the start of the short last paragraph of a message behind a log or a fence. Without one it returns
// the end of the message. The first lines are not part of it.
func closingOf(message string, lines []messageLine, first int) int {
	isText := func(l messageLine) bool { return !l.blank && !l.logged && !l.isFence }
	at := len(lines)
	for at > first && isText(lines[at-1]) {
		at--
	}
	before := at
	for before > first && lines[before-1].blank {
		before--
	}
	if at == len(lines) || before == first || isText(lines[before-1]) || len(message)-lines[at].from > maxAround {
		return len(message)
	}
	return lines[at].from
}

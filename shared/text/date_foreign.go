package text

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	dateparser "github.com/markusmobius/go-dateparser"
)

const (
	// mostForeign bounds the searched words in languages other than English. mostClauses bounds the clauses without
	// spaces. mostPhrase bounds the words of one expression. longestForeign bounds the bytes of a word.
	mostForeign, mostClauses, mostPhrase, longestForeign = 400, 100, 5, 48
	// noName is the maximum length of an ambiguous name: "so", "mar". Such a word alone is not a weekday. It is a
	// month only after a number.
	noName = 3
)

// others finds the dates of a text in a language other than English, and notes the language. It tries all languages
// with the same number of words in turn. Most expressions belong to one language alone.
func (d *dater) others() []DateMention {
	words := d.words[:min(len(d.words), mostForeign)]
	tally := TallyWords(words)
	d.foreign = tally.Language(English) != English
	codes := make([]string, 0, 2)
	if polish := countPolish(words); polish > 0 && polish >= tally[English] && !d.foreign {
		codes = append(codes, "pl")
	} else if most := slices.Max(tally[:]); most > tally[English] {
		for l, n := range tally {
			if _, ok := calendars[languages[l].code]; ok && n == most {
				codes = append(codes, languages[l].code)
			}
		}
	}
	for _, code := range codes {
		if out := d.inLanguage(code, words); len(out) > 0 {
			d.foreign = true
			return out
		}
	}
	return nil
}

// countPolish counts the words with letters that are Polish alone; there is no list of its stop words. A name may
// have them in any text.
func countPolish(words []Word) (n int) {
	for _, w := range words {
		if !w.Capital && strings.ContainsAny(w.Lower, "ąćęłńśźż") {
			n++
		}
	}
	return n
}

// numeric matches dates in numbers, the day first, and dates of Chinese, Japanese and Korean. An "ago" counts only if
// ongoing does not follow ("3日前後", "2年前期", "2일 전체"). A day counts only if it is not the start of a name ("明日香さん").
var (
	numeric    = regexp.MustCompile(`\b(\d{1,2})([./-])(\d{1,2})([./-])((?:19|20)\d\d)\b`)
	eastDate   = regexp.MustCompile(`\b(?:((?:19|20)\d\d) ?[年년] ?)?(1[0-2]|0?[1-9]) ?[月월](?: ?(3[01]|[12]\d|0?[1-9]) ?[日号일])?`)
	eastClause = regexp.MustCompile(`[^\s\pZ。、，．！？；,.!?;]{2,50}`)
	eastAgo    = regexp.MustCompile(`\b(\d{1,2}) ?(天|日|일|周|週間|주|个月|か月|ヶ月|개월|年|년) ?(?:前|전)`)
	ongoing    = regexp.MustCompile(`^[後后期半]`)
	agoEnds    = regexp.MustCompile(`^(?:에[는도]?|부터|까지|의|쯤에?)?(?:\P{Hangul}|$)`)
	nameOn     = regexp.MustCompile(`^(?:[香奈菜美花葉子恵](?:さん|ちゃん|くん|君|先輩|先生)|香(?:[はがとのも、。]|$))`)
)

// streets have days in their names. After spans, a time lasts until now.
var (
	streets = wordLists.Set("streets")
	spans   = WordSet("hace há ha faz")
)

// beside are the signs that make a date-like number part of a version, an address, or another number.
const beside = "0123456789.-/+"

// otherDay are the signs that make the word of time behind them a habit, or one farther away: "毎週", "再来週", "上上周".
const otherDay = "大毎每再一上下"

func (d *dater) inLanguage(code string, words []Word) []DateMention {
	var out []DateMention
	add := func(m DateMention) {
		if len(out) < maxMentions && !slices.ContainsFunc(out, func(o DateMention) bool {
			return m.Start < o.End && o.Start < m.End
		}) {
			out = append(out, m)
		}
	}
	east := code == "ja" || code == "zh" || code == "ko"
	said := d.text[:words[len(words)-1].End]
	switch {
	case east:
		for _, at := range eastDate.FindAllStringSubmatchIndex(said, maxMentions) {
			if m, ok := d.eastern(said, at); ok {
				add(m)
			}
		}
		for _, at := range eastAgo.FindAllStringIndex(said, maxMentions) {
			rest := said[at[1]:]
			if ongoing.MatchString(rest) || strings.HasSuffix(said[:at[1]], "전") && !agoEnds.MatchString(rest) {
				continue
			}
			if m, ok := d.resolve(d.classify(code, said[at[0]:at[1]]), said[at[0]:at[1]], 0); ok {
				m.Start, m.End = at[0], at[1]
				add(m)
			}
		}
	default:
		for _, at := range numeric.FindAllStringSubmatchIndex(said, maxMentions) {
			part := func(k int) string { return said[at[2*k]:at[2*k+1]] }
			if t, err := time.Parse("2.1.2006", part(1)+"."+part(3)+"."+part(5)); err == nil && part(2) == part(4) &&
				!numbered(said, at[0], at[1]) {
				add(DateMention{Start: at[0], End: at[1], Time: t, Unit: Day})
			}
		}
	}
	if code == "ja" || code == "zh" {
		d.unspacedDates(code, said, add)
	} else {
		d.spacedDates(code, words, add)
	}
	slices.SortFunc(out, func(a, b DateMention) int { return a.Start - b.Start })
	return out
}

// numbered reports whether a number continues before or after a date-like text: "10.1.2.2024". A sentence may end
// with it.
func numbered(said string, start, end int) bool {
	rest := strings.TrimPrefix(said[end:], ".")
	return start > 0 && strings.IndexByte(beside, said[start-1]) >= 0 ||
		rest != "" && (strings.IndexByte("-/", rest[0]) >= 0 || len(rest) < len(said)-end && '0' <= rest[0] && rest[0] <= '9')
}

// eastern resolves "2019年5月", "3月3日", "3월 3일". A month alone may be of any year.
func (d *dater) eastern(said string, at []int) (DateMention, bool) {
	part := func(k int) (n int) {
		if at[2*k] >= 0 {
			n, _ = strconv.Atoi(said[at[2*k]:at[2*k+1]])
		}
		return n
	}
	s := symbol{kind: whole, unit: Day, time: time.Date(part(1), time.Month(part(2)), max(1, part(3)), 0, 0, 0, 0,
		time.UTC)}
	switch {
	case part(3) > 0 && s.time.Day() != part(3), part(1) == 0 && part(3) == 0:
		return DateMention{}, false
	case part(1) == 0:
		s.kind = dayAndMonth
	case part(3) == 0:
		s.unit = Month
	}
	m, ok := d.resolve(s, "", 0)
	m.Start, m.End = at[0], at[1]
	return m, ok
}

// unspacedDates cuts each clause with a sign of time by the library, and reads each result again.
func (d *dater) unspacedDates(code, said string, add func(DateMention)) {
	for _, at := range eastClause.FindAllStringIndex(said, mostClauses) {
		clause := said[at[0]:at[1]]
		if !strings.ContainsAny(clause, "日天月周週年") {
			continue
		}
		if d.asked += perPhrase; d.asked > mostAsked {
			break
		}
		found, err := library.SearchWithLanguage(&dateparser.Configuration{Languages: []string{code}, CurrentTime: earlier},
			code, clause)
		if err != nil {
			continue
		}
		from := at[0]
		for _, f := range found {
			k := strings.Index(said[from:at[1]], f.Text)
			if k < 0 || utf8.RuneCountInString(f.Text) < 2 {
				continue
			}
			start := from + k
			from = start + len(f.Text)
			before, _ := utf8.DecodeLastRuneInString(said[:start])
			s, phrase := d.classify(code, f.Text), f.Text
			rest := said[from:]
			if s.kind != step || strings.ContainsRune(otherDay, before) ||
				ongoing.MatchString(rest) && strings.HasSuffix(phrase, "前") ||
				nameOn.MatchString(rest) {
				continue
			}
			for shorter := withoutLast(phrase); d.classify(code, shorter) == s; shorter = withoutLast(phrase) {
				phrase = shorter // "上周在"
			}
			if m, ok := d.resolve(s, phrase, 0); ok {
				m.Start, m.End = start, start+len(phrase)
				add(m)
			}
		}
	}
}

// withoutLast cuts the last character.
func withoutLast(s string) string {
	_, size := utf8.DecodeLastRuneInString(s)
	return s[:len(s)-size]
}

// spacedDates asks the library about the words around those that it knows for words of time, the longest expression
// first.
func (d *dater) spacedDates(code string, words []Word, add func(DateMention)) {
	c := calendars[code]
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = w.Lower
		if code == "ko" {
			lower[i] = withoutParticle(w.Lower)
		}
	}
	idiom := make([]bool, len(words))
	for _, phrase := range c.idioms {
		parts := strings.Fields(phrase)
		for i := range lower {
			if lower[i] == parts[0] && d.phrase(i, parts) {
				for k := range parts[:min(len(parts), len(words)-i)] {
					idiom[i+k] = true
				}
			}
		}
	}
	timely := make([]bool, 0, len(words))
	for i := 0; i < len(words); {
		for k := len(timely); k < min(i+mostPhrase, len(words)); k++ {
			timely = append(timely, len(lower[k]) <= longestForeign && !words[k].Number && !idiom[k] &&
				(c.inside[lower[k]] || d.classify(code, lower[k]).kind != none || d.classify(code, "3 "+lower[k]).kind != none))
		}
		s, n := d.phraseAt(code, lower, timely, i)
		if n == 0 {
			i++
			continue
		}
		for n > 1 && d.classify(code, strings.Join(lower[i:i+n-1], " ")) == s {
			n--
		}
		for n > 1 && d.classify(code, strings.Join(lower[i+1:i+n], " ")) == s {
			i, n = i+1, n-1
		}
		start, end, towards := i, i+n, 0
		if beside := i - 1; beside >= 0 && d.adjacent(beside) && s.named() {
			if towards = c.towards(lower[beside]); towards != 0 {
				start = beside
			}
		}
		if towards == 0 && end < len(words) && d.adjacent(end-1) && s.named() {
			if towards = c.towards(lower[end]); towards != 0 {
				end++
			}
		}
		m, ok := d.resolve(s, strings.Join(lower[i:i+n], " "), towards)
		switch {
		case !ok, s.kind == dayAndMonth && words[i+n-1].Number: // "Abril 2 gatos"
		case s.kind == dayAndMonth && (d.otherYear(lower, i+n) ||
			start > 0 && streets[lower[start-1]] || start > 1 && streets[lower[start-2]]):
		case s.kind == step && n > 1 && s.n > 0 && lower[i] == c.within && !c.toCome(lower) &&
			d.classify(code, strings.Join(lower[i+1:i+n], " ")).kind == unsure: // "in 3 Tagen geschafft"
		case s.kind == step && n > 1 && start > 0 && lower[start-1] == "desde" && spans[lower[i]]:
		case s.kind == step && n == 1 && start > 0 && d.classify(code, lower[start-1]).kind == weekday: // "Freitag morgen"
		case s.kind == step && strings.Contains(d.text[words[i].Start:words[i+n-1].End], "."): // "im 7. Monat"
		case start > 0 && c.never[lower[start-1]] && (s.kind == weekday || s.kind == step && n == 1):
		case i == 0 && lower[0] == "morgen" && !strings.HasPrefix(d.text[words[0].End:], " "): // "Morgen!"
		default:
			m.Start, m.End = words[start].Start, words[end-1].End
			if code == "ko" {
				m.End = words[end-1].Start + len(lower[end-1])
			}
			add(m)
		}
		i = max(end, i+n)
	}
}

// otherYear reports whether a possible year, which the library did not read, follows the day before word i: "3 de
// mayo de 1808".
func (d *dater) otherYear(lower []string, i int) bool {
	if i < len(lower) && (lower[i] == "de" || lower[i] == "del") && d.adjacent(i-1) {
		i++
	}
	return i < len(lower) && d.words[i].Number && len(lower[i]) == len("1808") && d.adjacent(i-1)
}

// phraseAt returns the meaning of the longest expression at word i, and its number of words. At most two words are
// before the first word of time. At most one word and numbers are after the last: "semaine prochaine".
func (d *dater) phraseAt(code string, lower []string, timely []bool, i int) (symbol, int) {
	most, last := 0, -1
	for k := i; k < len(lower) && k < i+mostPhrase && (k == i || d.together(k-1)); k++ {
		if d.words[k].Number && strings.ContainsAny(lower[k], ".,:") {
			break // "Python 3.9", "10:30"
		}
		if zones[lower[k]] {
			break
		}
		if timely[k] {
			last = k
		} else if last < 0 && k >= i+mostPhrase-3 || last >= 0 && k > last+1 && !d.words[k].Number {
			break
		}
		most = k - i + 1
	}
	for n := most; last >= 0 && n > 0; n-- {
		if !slices.Contains(timely[i:i+n], true) || d.shortName(code, lower, i, n) {
			continue
		}
		if s := d.classify(code, strings.Join(lower[i:i+n], " ")); s.kind > unsure {
			return s, n
		}
	}
	return symbol{}, 0
}

// together reports whether words i and i+1 are next to each other: "3. März".
func (d *dater) together(i int) bool {
	return d.adjacent(i) || d.words[i].Number && d.text[d.words[i].End:d.words[i+1].Start] == ". "
}

// shortName reports whether a short word of a phrase is a weekday to the library, or a month without a number
// before it.
func (d *dater) shortName(code string, lower []string, i, n int) bool {
	for k := i; k < i+n; k++ {
		if d.words[k].Number || utf8.RuneCountInString(lower[k]) > noName || IsUnspaced(lower[k]) {
			continue
		}
		switch d.classify(code, lower[k]).kind {
		case weekday:
			return true
		case month:
			if (k == i || !d.words[k-1].Number) && (k+1 == i+n || !year4.MatchString(lower[k+1])) {
				return true
			}
		}
	}
	return false
}

// withoutParticle cuts the Korean particle at the end of a noun of time.
func withoutParticle(word string) string {
	for _, p := range []string{"에는", "에", "은", "는", "부터", "까지", "도", "의"} {
		if rest, ok := strings.CutSuffix(word, p); ok && rest != "" {
			return rest
		}
	}
	return word
}

// resolve computes the time of an expression. A weekday or month needs a direction, because verbs of other
// languages give none here.
func (d *dater) resolve(s symbol, phrase string, towards int) (DateMention, bool) {
	switch s.kind {
	case step:
		if s.unit == Day {
			return mention(dayOrWeek(s.n, phrase), d.today.AddDate(0, 0, s.n)), true
		}
		return mention(s.unit, d.stepUnit(s.unit, s.n)), true
	case whole:
		m := mention(s.unit, s.time)
		m.Note = ""
		return m, true
	case dayAndMonth:
		return d.nearest(s.time)
	case weekday:
		on := d.stepWeekday(towards, time.Weekday(s.n))
		unsure := towards > 0 && on.AddDate(0, 0, -7).After(d.today) // "nächsten Freitag" on a Thursday is tomorrow, or not
		return mention(Day, on), towards != 0 && !unsure
	case month:
		return mention(Month, d.stepMonth(towards, s.time.Month())), towards != 0
	}
	return DateMention{}, false
}

// nearest returns the day of a month that is clearly the nearest to today. Verbs of other languages give no
// direction here.
func (d *dater) nearest(day time.Time) (DateMention, bool) {
	const near = 120 * 24 * time.Hour
	for year := d.today.Year() - 1; year <= d.today.Year()+1; year++ {
		t := time.Date(year, day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
		if t.Day() == day.Day() && t.Sub(d.today).Abs() <= near {
			return mention(Day, t), true
		}
	}
	return DateMention{}, false
}

// dayOrWeek returns the unit of a step in days, because the library turns weeks into days. Whole weeks are weeks,
// unless the phrase counts days. A step of no days is a week if it has two words ("diese Woche") or a sign for weeks.
func dayOrWeek(days int, phrase string) Unit {
	count := strings.IndexFunc(phrase, unicode.IsDigit)
	switch {
	case days == 0 && (strings.Contains(phrase, " ") || strings.ContainsAny(phrase, "周週주")):
		return Week
	case days == 0 || days%7 != 0:
		return Day
	case count < 0:
		return Week
	}
	digits := phrase[count:]
	if end := strings.IndexFunc(digits, func(r rune) bool { return !unicode.IsDigit(r) }); end >= 0 {
		digits = digits[:end]
	}
	if n, err := strconv.Atoi(digits); err == nil && n == max(days, -days) {
		return Day
	}
	return Week
}

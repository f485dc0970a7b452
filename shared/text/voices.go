package text

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Patterns of words that a speaker passes on. Go's \b, \s, \w and \W know ASCII alone, so boundaries are written as
// classes of Unicode.
var (
	// passedBlock is a fence of code, or the rest of a mail from its header on.
	passedBlock = regexp.MustCompile("(?s)```.*?(?:```|$)" +
		`|(?mi:^(?:from|von|de|da|van|subject|-+ ?(?:forwarded|original) message)` +
		`(?:[ \t][^\n]*)?(?::|-[\s\pZ]*)[^\n]*\n(?:(?s).*))`)
	// inlineData is an object or a list of objects in JSON within a line.
	inlineData = regexp.MustCompile(`\[?\{[\s\pZ]*"[^{}\n]*"[\s\pZ]*:[^{}\n]*\}(?:[\s\pZ]*,?[\s\pZ]*\{[^{}\n]*\})*\]?`)
	// passedLine is a line of a quoted mail, of a role or tool, of markup or of data.
	passedLine = regexp.MustCompile(
		`(?i)^[\s\pZ]*(?:>|[{<][^\s\pZ]|\[\{|[^\pL\pN]{0,3}(?:system|assistant|ai|bot|developer` +
			`|agent|tool(?: [\pL\pN_]+)?|function(?: [\pL\pN_]+)?|observation)[^\pL\pN]{0,3}:)`,
	)
	// userLine is a line of the role of the user: of a dialogue where the text has other roles.
	userLine = regexp.MustCompile(`(?i)^[\s\pZ]*[^\pL\pN]{0,3}(?:user|human|customer)[^\pL\pN]{0,3}:`)
	// reported opens reported speech; group 1 are the speaker's own words that lead up to it.
	reported = regexp.MustCompile(`^([^\pL\pN]*(?i:according to|laut|selon|d['’]après|según|secondo|segundo|volgens|по словам)` +
		`|[^\pL\pN]*(?i:(?:the|a|an|this|that|my|our|his|her|their|some)(?: [\p{L}\p{M}'’-]+){1,4}?|(?-i:\p{Lu}[\p{L}\p{M}]+)|he|she|they)` +
		`(?i: (?:says?|said|claims?|claimed|states?|stated|writes|wrote|reports|reported|told (?:me|us)|ends with` +
		`|(?:wants|would like) you to (?:know|note|remember|add)` +
		`|(?:wants|wanted|asks|asked|told) me to (?:tell you|say|add|pass on|let you know))` +
		`|['’]d like you to (?:know|note|remember|add))(?i: that)?` +
		spokenReport + `)` + wordEnds)
	// aboutUser opens a claim about "the user" in the third person.
	aboutUser = regexp.MustCompile(`^(?i:` +
		`(?:(?:the|this|der|die|dieser|diese|le|la|el|il|lo|este|esta|questo|o|a|de|den)[\s\pZ]+` +
		`(?:user|nutzer|nutzerin|benutzer|benutzerin|usuario|usuaria|utente|usuário|usuária|gebruiker)` +
		`|(?:the|this)[\s\pZ]+(?:customer|account[\s\pZ]holder)` +
		`|user[\s\pZ]+(?:is|was|has|wants|prefers|lives|works|likes|needs|must)|l['’]utilisateur|l['’]utilisatrice|l['’]utente` +
		`|användaren|kullanıcı|użytkownik|пользователь|користувач|ο[\s\pZ]+χρήστης|המשתמשת?|المستخدمة?|उपयोगकर्ता|ব্যবহারকারী|பயனர்` +
		`|მომხმარებელი|օգտատերը|ተጠቃሚው|사용자(?:는|가|의)?)(?:['’]s)?` + wordEnds +
		`|ผู้ใช้(?:คือ|เป็น|มี|อยู่|อาศัย|ชอบ|ไม่|ต้องการ|แพ้)` +
		`|(?:这位|该|此)?(?:用户|用戶)(?:现在|現在|已经?|也|都|其实|实际上)?(?:是|在|住|有|喜欢|喜歡|想|希望|要|不|对|對|叫|讨厌|必须|同意|拥有|的(?:名字|地址|家|职业|银行|密码|生日))` +
		`|(?:この)?ユーザー(?:は|が|には|の(?:名前|住所|家|職業|誕生日)))`)
	// clauseStart is the text before a clause within a passage.
	clauseStart = regexp.MustCompile(`[,;:–—(][\s\pZ]+|[，；：、]|(?:^|[\s\pZ])(?i:that|dass|daß|que|che|что|att|dat|że)[\s\pZ]+`)
	// unspacedThings are words that only begin with "user", and actions of users, in scripts without spaces.
	unspacedThings = regexp.MustCompile(`^(?:(?:用户|用戶)(?:要求|要素|对接|对象|在线|有关|有效|想法|不满|是否)` +
		`|ユーザーが(?:多い|少ない|使う|使い|増え))`)
	// userThings are nouns before which "user" is no person: "the user manual".
	userThings = wordLists.Set("userThings")
	// koreanThings are such nouns, to which particles are joined.
	koreanThings = regexp.MustCompile(`^(?:지원|경험|조사|연구|인터뷰|관리|교육|테스트)`)
)

// spokenReport opens reported speech as people talk: "he goes, like, ...", "my sister's all like, ...".
const spokenReport = `|[^\pL\pN]*(?i:(?:the|a|this|that|my|our|his|her|their|some)` +
	`(?: [\p{L}\p{M}-]+){1,3}?|(?-i:\p{Lu}[\p{L}\p{M}]+)|he|she|they)` +
	`(?i: goes| went|(?:['’]s| is| was|['’]re| are| were)(?: all| just| totally)* like)(?i:[,:]? like)?[,:]`

// wordEnds is the end of a word in any script, as far as a pattern can look behind it.
const wordEnds = `(?:$|[^\pL\pM\pN])`

// voice is the speaker of a byte of a text.
type voice byte

const (
	ownWord voice = iota
	passedOn
	// claimed is passed on, too: a claim about "the user".
	claimed
	// labelledWord is passed on, too: a single line after another person's name.
	labelledWord
	// unsureWord may be another speaker's. It counts as the speaker's own.
	unsureWord
	// leadWord is the speaker's own, but only leads up to passed-on words.
	leadWord
)

// passes reports whether a speaker passes a word on.
func (v voice) passes() bool { return v == passedOn || v == claimed || v == labelledWord }

// parted is a text with the voice of each byte, and with blanks in place of passed-on words.
type parted struct {
	said, speaker string
	voices        []voice
	own           []byte
	// users says that the text may have a claim about "the user".
	users bool
	// opens says that the text ends with a frame of the speaker's next text.
	opens bool
	// inLine says that a frame has its text in its own line, and ends with the line.
	inLine bool
}

// userCues are parts of the words for "user" that claims have: a text without one has no claim.
var userCues = []string{
	"user", "customer", "account holder", "utzer", "usuari", "usuár", "utent", "utilisat", "gebruiker", "användar",
	"kullanıcı", "użytkown", "ользователь", "ористувач", "χρήστης", "משתמש", "مستخدم", "उपयोगकर्ता", "ব্যবহারকারী",
	"பயனர்", "მომხმარებელი", "գտատեր", "ተጠቃሚ", "사용자", "ผู้ใช้", "用户", "用戶", "ユーザー",
}

// Voices splits a text into the speaker's own words and the words that the speaker passes on. Passed on are quotations,
// mails, letters, transcripts, code, logs, pasted texts, data, reported speech, and claims about "the user". A line in
// the first person after another person's name or handle is passed on, too. Every word is in one of the two, in its
// order. The speaker may have no name. It takes time linear in the text.
func Voices(s, speaker string) (own, others string) {
	p := part(s, speaker)
	return strings.TrimSpace(string(p.own)), p.of(voice.passes)
}

// Unsure returns the part of the speaker's own words that may be another speaker's: lines in the first person after
// a possible name.
func Unsure(s, speaker string) string {
	return part(s, speaker).of(func(v voice) bool { return v == unsureWord })
}

// Sure returns the part of the speaker's own words that is certain: all words except the unsure ones and the leads.
func Sure(s, speaker string) string {
	return part(s, speaker).of(func(v voice) bool { return v == ownWord })
}

// Claims returns the claims of a text about "the user" in the third person.
func Claims(s string) string { return part(s, "").of(func(v voice) bool { return v == claimed }) }

// Unquoted returns a text of the same length with blanks in place of the passed-on words. Claims about "the user"
// stay. Single lines after a name also stay, because they may be the speaker's.
func Unquoted(s string) string {
	p := part(s, "")
	for i, v := range p.voices {
		if v == claimed || v == labelledWord {
			p.own[i] = s[i]
		}
	}
	return string(p.own)
}

// of joins the runs of bytes of some voices, one a line.
func (p *parted) of(is func(voice) bool) string {
	var b strings.Builder
	for i, v := range p.voices {
		switch {
		case is(v):
			b.WriteByte(p.said[i])
		case i > 0 && is(p.voices[i-1]):
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}

// pass marks bytes as passed on, with blanks in their place. Bytes that are already a quotation stay a quotation,
// also after a label.
func (p *parted) pass(from, to int, v voice, blank byte) {
	for i := from; i < to; i++ {
		if v != labelledWord || !p.voices[i].passes() {
			p.voices[i] = v
		}
		p.own[i] = blank
	}
}

func part(s, speaker string) *parted {
	p := &parted{said: s, speaker: speaker, voices: make([]voice, len(s)), own: []byte(s)}
	lower := strings.ToLower(s)
	p.users = slices.ContainsFunc(userCues, func(cue string) bool { return strings.Contains(lower, cue) })
	end := len(s)
	pasted, unsure := pastes(s)
	for _, at := range pasted {
		p.pass(at.from, at.to, passedOn, '\n')
	}
	p.doubt(0, unsure)
	if strings.ContainsAny(s, ":：") {
		if at := given.FindStringSubmatchIndex(s); at != nil {
			end = at[2]
			p.pass(end, len(s), passedOn, '\n')
		}
	}
	if strings.Contains(s, "\n") || strings.Contains(s, "```") {
		for _, at := range passedBlock.FindAllStringIndex(s[:end], -1) {
			p.pass(at[0], at[1], passedOn, '\n')
		}
	}
	if strings.Contains(s, "{") {
		for _, at := range inlineData.FindAllStringIndex(s[:end], -1) {
			p.pass(at[0], at[1], passedOn, ' ')
		}
	}
	if from, own := workedOn(s[:end]); own {
		p.doubt(from, end)
	} else if from >= 0 {
		p.pass(from, end, labelledWord, '\n')
	}
	if strings.ContainsAny(s, "\"'“„«»‹›「『‘") {
		p.quotations(string(p.own[:end]))
	}
	p.letters(string(p.own[:end]))
	p.lines(string(p.own[:end]))
	p.frame(string(p.own))
	return p
}

// doubt marks the speaker's own part of some bytes as unsure.
func (p *parted) doubt(from, to int) {
	for i := from; i < to; i++ {
		if p.voices[i] == ownWord {
			p.voices[i] = unsureWord
		}
	}
}

// passages passes on the reports and claims of a line that begins at a byte of the text.
func (p *parted) passages(line string, at int) {
	claim := false
	for len(line) > 0 {
		n, tight := p.passageEnd(line)
		c := line[:n]
		if claim || p.users && claims(c) {
			p.pass(at, at+len(strings.TrimRight(c, "\n")), claimed, ' ')
			claim = tight
		} else {
			p.passage(c, at)
		}
		line, at = line[n:], at+n
	}
}

// passage passes on the reports of a passage, and the claims of its clauses.
func (p *parted) passage(c string, at int) {
	for c != "" {
		end := at + len(strings.TrimRight(c, "\n"))
		lead := reported.FindStringSubmatchIndex(c)
		if lead == nil || isAdvice(c) || strings.EqualFold(strings.TrimSpace(c[:lead[3]]), "that said") {
			if from := p.claimWithin(c); from >= 0 {
				p.pass(at+from, end, claimed, ' ')
			}
			return
		}
		v := passedOn
		if p.users && claims(c[lead[3]:]) {
			v = claimed
		}
		to := p.reportEnds(c, lead[3], at)
		if to <= lead[3] {
			p.pass(at+lead[3], end, v, ' ')
			return
		}
		p.pass(at+lead[3], at+to, v, ' ')
		c, at = c[to:], at+to
	}
}

// reportEnds returns where reported speech that begins within a passage ends before the passage does: behind a
// quotation, or where the speaker speaks again; 0 where it does not.
func (p *parted) reportEnds(passage string, from, at int) int {
	open := from
	for open < len(passage) && strings.IndexByte(" \t:,", passage[open]) >= 0 && p.voices[at+open] == ownWord {
		open++
	}
	end := open
	for end < len(passage) && p.voices[at+end] == passedOn {
		end++
	}
	if end > open && strings.ContainsFunc(passage[end:], unicode.IsLetter) {
		return end
	}
	if again := ownAgain(passage[from:]); again > 0 {
		return from + again
	}
	return 0
}

// claimWithin returns where in a passage a clause claims something of "the user"; -1 where none does.
func (p *parted) claimWithin(passage string) int {
	if !p.users {
		return -1
	}
	for _, at := range clauseStart.FindAllStringIndex(passage, -1) {
		if claims(passage[at[1]:]) {
			return at[1]
		}
	}
	return -1
}

// claims reports whether a passage opens with a claim about "the user".
func claims(passage string) bool {
	passage = behindMarks(passage)
	at := aboutUser.FindStringIndex(passage)
	if at == nil {
		return false
	}
	if mark, _ := utf8.DecodeLastRuneInString(passage[:at[1]]); unicode.IsPunct(mark) && !unicode.Is(unicode.Pd, mark) {
		return true
	}
	next := strings.TrimLeftFunc(passage[at[1]:], unicode.IsSpace)
	end := strings.IndexFunc(next, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	if end < 0 {
		end = len(next)
	}
	return !userThings[strings.ToLower(next[:end])] && !koreanThings.MatchString(next) &&
		!unspacedThings.MatchString(passage)
}

// maxMarks is how many bytes of marks and white space may stand before a claim.
const maxMarks = 64

// behindMarks is a text from its first letter or digit on, within maxMarks bytes.
func behindMarks(s string) string {
	at := strings.IndexFunc(s[:min(len(s), maxMarks)], func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r)
	})
	if at < 0 {
		return ""
	}
	return s[at:]
}

// passageEnd returns where the first passage of a line ends: at a mark that ends a sentence, before white space or the
// end. A claim that follows a mark without white space is a passage, too; tight says that the passage ends so.
func (p *parted) passageEnd(line string) (end int, tight bool) {
	for i, r := range line {
		if i < end || !isTerminal(r) {
			continue
		}
		end = i + utf8.RuneLen(r)
		for end < len(line) {
			next, size := utf8.DecodeRuneInString(line[end:])
			if !isTerminal(next) && !strings.ContainsRune(`)]"'”’»」』`, next) {
				break
			}
			end += size
		}
		next, _ := utf8.DecodeRuneInString(line[end:])
		switch {
		case r == '.' && end < len(line) && IsAbbreviated(line[:end], line[end:]):
		case end == len(line), unicode.IsSpace(next), r > unicode.MaxLatin1 && r != '…':
			return end, false
		case p.users && claims(line[end:]):
			return end, true
		}
	}
	return len(line), false
}

// isTerminal reports whether a mark ends sentences in some script.
func isTerminal(r rune) bool {
	return r == '.' || r == '!' || r == '?' || r > unicode.MaxLatin1 && unicode.Is(unicode.Sentence_Terminal, r)
}

package directive

import (
	"regexp"
	"strings"
)

// An order has the assistant as its addressee or its object: a verb that commands, and what only a memory has. A word such as
// "bank", "entry" or "memory" beside a verb is not enough, for those who tell of their lives use them too ("The bank cleared my
// mortgage", "My entry visa was replaced"). To wish to be remembered ("Note that I am vegan") is no order either.

// Parts of the patterns. Go's expressions look neither ahead nor behind, so that what must follow is spelled out.
const (
	adverbs = `(?:(?:please|now|then|also|just|kindly|always|first|next|instead|go ahead and|\w+ly),? )*`
	// commanded stands before a verb that is addressed to the reader: a clause begins, or the reader is told or asked to.
	commanded = `(?:^|[.!?:;,"“(—–\n]\s*|- |\b(?:please|assistant|bot|ai|you to|(?:can|could|will|would) you` +
		`|you (?:must|should|shall|may|can|will|have to|need to|are to|ought to|are (?:required|ordered|instructed) to)|from now on|instructions? to|commands? to|orders? to) ` +
		`|[,;:] (?:and|then|so|but) )` + adverbs
	// joined stands before a further verb of a sentence.
	joined = `\b(?:and|then) ` + adverbs

	undo    = `(?:delete|expunge|erase|wipe|purge|retract|overwrite|clear|remove|drop|merge|export|unlock|rewrite|void|reset|destroy|forget|empty)`
	change  = `(?:update|replace|change|set|correct|store|save|add|attach|insert|write|mark|record|append|put|remove|delete|erase|drop|edit|alter)`
	undone  = `(?:deleted|erased|wiped|purged|retracted|overwritten|cleared|removed|dropped|void|voided|exported|updated|replaced|changed|merged|reset|rewritten)`
	keeping = `(?:remember|store|save|note|add|record)`

	which = `(?:(?:out|away|all|every|each|any|of|the|my|your|his|her|their|our|these|this|that|those|other|old|whole|entire|stored|saved|` +
		`existing|previous|earlier|core|complete|full|user|user's|remaining|single) )`
	// ends follows a noun that stands alone: no "memory card", "entry visa" or "bank holiday".
	ends = `(?:$|['’]|[^\w\s]|\s+(?:of|about|from|in|on|that|which|with|for|to|into|so|and|or|you|i|now|at|as|older|newer|ids?|m?\d|[#\[(]|immediately|` +
		`today|completely|entirely|saved|stored|without|before|after|please|again|if|when|whenever|is|are|was|has|have|must|should|accordingly|concerning|regarding)(?:\W|$|\d))`
	kept   = `(?:memory(?: banks?| stores?| entry| entries)?|memories|entry|entries|database)`
	own    = `(?:memory(?: banks?| stores?| entry| entries)?|memories|entries|database|bank|records|notes)`
	traits = `(?:name|job|home|residence|address|employer|profession|occupation|dogs?|cats?|pets?|wife|husband|partner|sons?|daughters?|mother|` +
		`father|sister|brother|birthday|age|allerg\w+|diet|favou?rite \w+|hobb\w+|preferences?|city|country|religion|salary|phone|number|facts?|memor\w+)`
	uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
)

// commands are orders that are told by where the verb stands. IMP is the place.
var commands = []string{
	// what was said to the machine is to be passed over
	`IMP(?:ignore|disregard|override|bypass|forget) (?:\w+ ){0,4}?(?:all|any|your|previous|prior|earlier|preceding|system|safety|every|former|those|these) ` +
		`(?:\w+ ){0,3}(?:instructions?|rules|guidelines|prompts?|directives?)\b`,
	`IMP(?:ignore|disregard|override|bypass|forget) (?:the )?(?:instructions?|rules|guidelines|prompts?|directives?)(?:$|[^\w\s]| (?:and|above|before|you|given|so far))`,
	`IMP(?:ignore|disregard|forget) (?:all|everything|anything|whatever) (?:that )?(?:you (?:have )?(?:know|stored?|remember|saved?|learned about|learnt about|have|were)|i say|i said|i told you|the user \w+)\b`,
	`IMP(?:do not|don't|don’t|never) (?:remember|store|save) (?:all|everything|anything|whatever) (?:that )?(?:i say|i tell|about)\b`,
	// what is kept is to be done away with or changed
	`IMP` + undo + ` ` + which + `{0,6}(?:\w+ )??` + kept + ends,
	`IMP(?:clear|wipe|erase|purge|unlock|export|empty|delete|overwrite|reset) (?:the|your|this|whole|entire|memory| )+bank` + ends,
	`IMP` + undo + ` (?:what|everything|all|anything|whatever)(?: that| of what)? you (?:have )?(?:stored?|know|remember|saved?|noted?|have|kept|keep)\b`,
	`IMP(?:` + undo + `|` + change + `)\b[^.!?]{0,60}\b(?:in|to|from|into|of|with|within|out of) (?:your|the|my|all|every|each|any|this|that) ` +
		which + `*(?:memory(?: bank| store)?|memories|database|memory entries)` + ends,
	`IMP(?:` + undo + `|` + change + `)\b[^.!?]{0,60}\b(?:from|in|to|into|of) your (?:\w+ )?` + own + ends,
	`IMP` + change + `\b[^.!?]{0,60}\b(?:in memory` + ends + `|(?:everybody|everyone|(?:all|every|each|other) users?)['’]?s?['’]? profiles?\b|to (?:all|every) (?:memory|memories|entries)\b)`,
	`IMP(?:update|replace|change|set|correct|mark|edit|alter) (?:\w+ )??` + which + `*(?:memory|memories|entry|entries)(?:$|[^\w\s]| (?:so that|that|you|about|of|as|to say|accordingly|with|\d))`,
	`IMP(?:` + undo + `|` + change + `) (?:\w+ )??` + which + `+(?:\w+ )??stored (?:` + traits + `|data|information)\b`,
	`IMP(?:` + undo + `|` + change + `) (?:all |of |every |any )*your (?:\w+ )?` + own + ends,
	`IMP(?:` + undo + `|` + change + `)\b[^.!?]{0,40}\b(?:records?|notes?|memories|entries|data|profile) (?:that )?you (?:have|keep|hold|stored?|wrote|write)\b`,
	`IMP(?:` + undo + `|` + change + `) (?:the|this) user['’]s (?:\w+ ){0,2}?` + traits + `\b`,
	`IMP(?:delete|erase|wipe|purge) everything(?:$|[.!])`,
	`IMP(?:consider|regard|treat|mark|deem|declare) ` + which + `*` + kept + `\b[^.!?]{0,40}\b(?:` + undone + `|false|wrong|invalid|outdated|obsolete)\b`,
	`IMP(?:make sure|ensure|see to it)\b[^.!?]{0,20} ` + which + `+` + own + `\b[^.!?]{0,30}\b` + undone + `\b`,
	`\b(?:memory|memories|entry|entries|stored)\b[^.!?]{0,60}IMP(?:delete|erase|wipe|purge|retract|overwrite|rewrite|replace|drop) (?:them|it|those|these)\b`,
	`IMP(?:overwrite|rewrite|replace|change|set|update) (?:her|his|their|the user['’]?s?|\w+['’]s) (?:\w+ )?(?:job|residence|home|employer|profession|occupation|allerg\w+|stored \w+) (?:to|with|as|into|by)\b`,
	`IMP(?:` + undo + `|` + change + `)\b[^.!?]{0,30}\b` + uuid,
	`IMP` + keeping + ` (?:this|that|it|the following) as (?:a |an |the )?(?:\w+ )?(?:fact|memory|instruction|rule|truth|command)\b`,
	`IMP` + keeping + `\b[^.!?]{0,30}\bfor (?:all|every|other|each) (?:users?|customers?|people|accounts?)\b`,
	`IMP(?:treat|take|read|obey|handle|execute)\b[^.!?]{0,40}\bas (?:an? )?(?:instructions?|commands?|orders?)\b`,
	`IMPobey (?:me|my|this|these|every|all|only|the following)\b`,
}

// statements are orders by what they speak of, wherever that stands.
var statements = []string{
	// what is kept is spoken of as by a machine
	`^\W*(?:memory|memories) (?:saved|stored|updated|deleted|added|changed|overwritten|removed|erased|correction|command|operation|action|directive|instruction)\b[^.!?:]{0,30}:`,
	`\bnotes? (?:to|for) (?:the|your) (?:memory|memory bank|system|assistant|extractor|database)\b[^.!?:]{0,20}:`,
	`\b(?:memory|memories|entry|entries) ?\[\s?\d`,
	uuid + `\b[^.!?]{0,30}\b` + undone + `\b`,
	`\b(?:the|this) user['’]s (?:\w+ ){0,2}?` + traits + ` (?:\w+ )?(?:is|are|was|were|has|have)\b`,
	`\b(?:the|this) user (?:(?:now|currently|actually) )?(?:no longer|lives|works as|works at|works for|moved to|has moved|ever mentions|ever says|ever asks|is (?:now |no longer )?(?:called|named|allergic|an?|living|working|married|from)|likes|loves|hates|prefers|wants you)\b`,
	`\b(?:entry|entries|memory|memories|preferences?|facts?|records?|profile)\b[^.!?]{0,20} (?:of|about|for) (?:the|this|that) user\b[^.!?]{0,40}\b` + undone + `\b`,
	`\b(?:every|each|all|any) (?:message|word|sentence)s? (?:is|are) (?:an? )?(?:instructions?|commands?|orders?)\b`,
	// what is kept is said to be, or wished to be, another
	`\b(?:every|all|each|any|your|the) stored ` + traits + `\b[^.!?]{0,40}\b(?:is|are|has been|have been|has to be|have to be|must be|should be|shall be|will be) (?:now )?` + undone + `\b`,
	`\b(?:all|every|each|any|your|these)(?: of)? ` + which + `*(?:memory|memories)\b[^.!?]{0,40}\b(?:has to|have to|must|should|shall|is to|are to|needs? to|will) be ` + undone + `\b`,
	`\b(?:i|we)(?:['’]ve| have)? (?:now |just |already |successfully )*` + undone + `\b[^.!?]{0,60}\byour (?:memory(?: bank)?|memories|memory entries|stored \w+)` + ends,
	`\byour (?:memory|memories|memory bank|entries|stored \w+) (?:has been|have been|is now|are now|was|were) (?:now |just |successfully )?` + undone + `\b`,
	`\b(?:want|demand|insist|require|request|would like|['’]d like)\b[^.!?]{0,20}\b(?:all|your|every|any) ` + which + `*(?:memories|memory|entries)(?: \w+){0,4}? (?:be |to be )?` + undone + `\b`,
	`\b(?:the|this|that) (?:memory|entry) (?:about|of|on|that)\b[^.!?]{0,40}\b(?:has to|must|should|shall|is to|needs to|will) be ` + undone + ` by you\b`,
	`\bif you (?:would |could )?(?:also |just |please )?(?:delete|erase|wipe|purge|retract|overwrite|clear|remove)d?\b (?:all|every|your|any) ` + which + `*` + own + ends,
	`\byour (?:new|real|true|updated|actual) (?:instructions?|directives?|system prompt) (?:is|are)\b`,
	// the same in other languages
	`\b(?:ignoriere|missachte|vergiss)\b.{0,60}\b(?:anweisungen|regeln)|\b(?:lösche|vergiss|überschreibe)\b.{0,40}\b(?:erinnerungen|speicher|gedächtnis)`,
	`\b(?:ignore|ignorez|oublie|oubliez) (?:(?:toutes|tous|les|tes|vos|ces|mes|leurs) )+(?:\pL+ )?(?:instructions|consignes|règles)|\b(?:efface|effacez|supprime|supprimez)\b.{0,40}\b(?:souvenirs|mémoire)`,
	`\b(?:ignora|ignore|olvida|esquece|esqueça|dimentica)\b.{0,60}\b(?:instrucciones|instruções|istruzioni|reglas|regole)|\b(?:borra|elimina|apaga|cancella)\b.{0,40}\b(?:recuerdos|memoria|memorias|memórias|ricordi)`,
	`\b(?:negeer|vergeet)\b.{0,60}\b(?:instructies|regels)|\b(?:wis|verwijder)\b.{0,40}\b(?:herinneringen|geheugen)`,
	`(?:игнорируй|забудь).{0,60}(?:инструкции|правила)|(?:удали|сотри).{0,40}(?:воспоминания|память)`,
	`忽略.{0,12}(?:指令|指示)|删除.{0,16}(?:记忆|回忆)|指示.{0,12}無視|記憶.{0,12}削除|무시.{0,12}지시|기억.{0,12}삭제`,
}

var (
	// orders hold of every sentence.
	orders = compiled(append(placed(commanded), statements...))
	// furtherOrders hold where the clause before has no subject of its own.
	furtherOrders = compiled(placed(joined))
	// subject makes a clause a tale, all of whose verbs are the subject's ("I log in and delete the entries").
	subject = regexp.MustCompile(`^\W*(?:(?:so|and|but|well|yesterday|today|then|oh|sometimes|often|usually),? )*(?:it|you|my|our|his|her|their|the|a|an|people|some|most)\b|\b(?:i|we|he|she|they)\b`)
)

func placed(place string) []string {
	out := make([]string, len(commands))
	for i, c := range commands {
		out[i] = strings.ReplaceAll(c, "IMP", place)
	}
	return out
}

func compiled(patterns []string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		out[i] = regexp.MustCompile(p)
	}
	return out
}

// orderCues are parts of words one of which every order has; they spare most sentences the patterns.
var orderCues = strings.Fields(`ignor disregard expung overrid bypass forget delet eras wip purg retract overwrit memor bank databas
	stor entr obey remember user rewrit instruct command fact sav record note profil missacht vergiss lösch oubli effac supprim olvid
	esque dimentic borra elimin apag cancell negeer vergeet wis verwijder игнор забуд удал сотр 忽略 删除 無視 削除 무시 삭제`)

func isOrder(lower string) bool {
	if !hasCue(lower) {
		return false
	}
	for _, o := range orders {
		if o.MatchString(lower) {
			return true
		}
	}
	return goesOnToOrder(lower)
}

// goesOnToOrder reports whether an order follows another verb that is addressed to the reader too.
func goesOnToOrder(lower string) bool {
	for _, o := range furtherOrders {
		for _, at := range o.FindAllStringIndex(lower, -1) {
			before := lower[:at[0]]
			if clause := before[strings.LastIndexAny(before, ".!?:;\n")+1:]; !subject.MatchString(clause) {
				return true
			}
		}
	}
	return false
}

func hasCue(lower string) bool {
	for _, cue := range orderCues {
		if strings.Contains(lower, cue) {
			return true
		}
	}
	return strings.Count(lower, "-") >= 4 // an id
}

package text

import "strings"

// IsStopWord reports whether a lower-case word is a stop word: a pronoun, article, auxiliary, preposition,
// conjunction or contraction of these.
func IsStopWord(lower string) bool { return stopWords[lower] }

var stopWords = WordSet(`
a an the this that these those some any each every either neither both all such no nor not
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves themself
who whom whose which what when where why how
am is are was were be been being have has had having do does did doing done
can could will would shall should may might must ought cannot
and or but if then else because as until while of at by for with about against between into through
during before after above below to from up down in out on off over under again further once than
so too very just also only own same there here now though although yet since per via
i'm i've i'd i'll im ive we're we've we'd we'll you're you've you'd you'll he's he'd he'll she's she'd she'll
it's it'd it'll they're they've they'd they'll that's that'll there's here's what's who's where's how's when's let's
isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't didn't can't couldn't won't wouldn't shan't
shouldn't mustn't mightn't
don doesn didn s t d ll m re ve y'all
`)

// WordSet makes a set of the words of a list, which blanks separate.
func WordSet(list string) map[string]bool {
	words := strings.Fields(list)
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// Union is the words of all sets.
func Union(sets ...map[string]bool) map[string]bool {
	out := map[string]bool{}
	for _, s := range sets {
		for k := range s {
			out[k] = true
		}
	}
	return out
}

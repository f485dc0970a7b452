package embedded

import "github.com/mneme-memory/mneme/shared/text"

// fixedPronouns have one replacement wherever they stand.
var fixedPronouns = map[string]string{
	"me": selfMark, "my": selfMark + "'s", "mine": selfMark + "'s", "myself": "themself",
	"your": otherMark + "'s", "yours": otherMark + "'s", "yourself": "themself",
}

// contracted pronouns carry their verb with them.
var contracted = map[string]string{
	"i'm": selfMark + " is", "im": selfMark + " is", "i've": selfMark + " has", "ive": selfMark + " has", "i'll": selfMark + " will",
	"you're": otherMark + " is", "you've": otherMark + " has", "you'll": otherMark + " will",
}

type pluralForm struct{ ending, later string }

var pluralForms = map[string]pluralForm{
	"we": {"", "they"}, "we're": {" are", "they are"}, "we've": {" have", "they have"}, "we'll": {" will", "they will"},
	"we'd": {" would", "they would"}, "us": {"", "them"}, "our": {"", "their"}, "ours": {"", "theirs"}, "ourselves": {"", "themselves"},
}

// irregularThird are present forms whose third person is not regular.
var irregularThird = map[string]string{
	"am": "is", "are": "is", "were": "was", "have": "has", "do": "does", "go": "goes",
	"don't": "does not", "haven't": "has not", "aren't": "is not", "weren't": "was not", "ain't": "is not", "dont": "does not",
}

var modals = text.WordSet(`can could will would shall should may might must ought can't couldn't won't wouldn't shan't shouldn't mustn't
	cannot cant wont gonna wanna gotta used better did didn't didnt hadn't wasn't`)

// adverbs may stand between subject and verb.
var adverbs = text.WordSet(`also always never often sometimes just still really actually usually already even ever only now then soon
	kinda sorta almost both too rarely seldom mostly maybe perhaps not currently once first finally recently hardly totally definitely
	probably sure quite rather all truly honestly literally simply later much well long ago no longer`)

// auxiliaries before a subject make a question, where the verb keeps its form.
var auxiliaries = text.WordSet(`am are was were do does did have has had can could will would shall should may might must
don't didn't can't won't shouldn't wouldn't couldn't haven't aren't ain't let`)

// notVerbs cannot be the verb of a subject that went before.
var notVerbs = text.WordSet(`and or but nor so to of in on at by for with from as than that this these those which who whom whose when
	where while if because the a an my your his her its our their me you him them us it he she they we i is was has does had did been
	being what how why like-minded too either neither no none alone myself`)

// clauseStarts before "you" make it a subject.
var clauseStarts = text.WordSet(`that if when while because since and but so what how who where why know think hope guess bet glad
	believe say said although though unless until whenever whatever before after as sure like`)

var clauseBreaks = text.WordSet(`that which who because when while if since although though will would can could should might must may
	gonna did`)

var subjects = text.WordSet("you he she it they we you're he's she's it's they're we're we've they've you've")

var conjunctions = text.WordSet("and but")

// coordinated verbs are hardly ever nouns, so after "and" they continue the speaker's sentence.
var coordinated = text.WordSet(`have am go love want need think live enjoy believe hope feel know make take get keep try spend prefer
	hate don't`)

// plainVerbs may directly follow a verb and "and" ("I run and swim").
var plainVerbs = text.Union(coordinated, text.WordSet(`swim run walk hike bike cycle ride sing dance paint draw write read cook bake play work
	study teach travel train practice practise watch listen eat drink sleep help volunteer coach climb surf ski jog stretch meditate
	garden knit sew`))

// participles after "I'd" make it "had".
var participles = text.WordSet(`been had gone done seen never known heard made taken given got gotten thought felt lost found met begun
	forgotten written`)

// relations join with "I" to a plural subject, and name a person or animal of the speaker.
var relations = text.WordSet(`wife husband partner spouse girlfriend boyfriend fiance fiancee fiancé fiancée friend friends buddy kid
	kids child children son sons daughter daughters mom mum mother dad father parents sister sisters brother brothers family cousin
	cousins aunt uncle grandma grandpa grandmother grandfather niece nephew neighbor neighbour neighbors colleague colleagues coworker
	coworkers boss roommate team teammate teammates dog dogs cat cats fam group`)

// presentInEd end in "ed" without being past.
var presentInEd = text.WordSet("need feed breed bleed speed seed weed heed shed wed embed exceed proceed succeed")

// pastForms are irregular pasts, and verbs that are the same in the past.
var pastForms = text.WordSet(`was were had did went got made took came saw said told thought knew found gave left felt became began kept
	held brought wrote stood heard let meant set met ran paid sat spoke lay led read grew lost fell sent built understood drew broke
	spent cut rose drove bought wore chose ate caught dealt drank flew forgot forgave froze hid hit hurt laid lent lit put quit rang
	rode sang sank shook shot shut sold slept slid spread stole stuck struck swam swore swept taught threw tore woke won wound bet bit
	blew bent bound bred fed fled flung fought forbade hung knelt leapt leant learnt dreamt spelt spilt shone showed sewed stung sought
	sped spun sprang stank strode swung wept withdrew overcame cost cast burst beat rid`)

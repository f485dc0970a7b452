package training

import (
	"math/rand/v2"
	"strings"

	"github.com/mneme-memory/mneme/lab/corpus"
)

// fillers are the values for the places of a pattern.
var fillers = map[string][]string{
	"FOOD": listed(`peanuts|nuts|hazelnuts|walnuts|almonds|cashews|sesame|shellfish|prawns|crab|mussels|fish|salmon|
eggs|milk|cheese|butter|dairy|lactose|wheat|gluten|soy|tofu|mustard|celery|garlic|onions|kiwi|strawberries|apples|tomatoes|
mushrooms|aubergine|beans|lentils|chickpeas|pork|bacon|beef|chicken|lamb|red meat|sausage|gelatine|honey|sugar|chocolate|salt|
chilli|coffee|caffeine|alcohol|wine|beer|grapefruit|spinach|yeast`),
	"THING": listed(`penicillin|ibuprofen|aspirin|latex|wool|nickel|dust|pollen|cats|dogs|feathers|bee stings|wasps|
perfume|detergent|mould|cigarette smoke|bleach|paint fumes|sunscreen|antibiotics`),
	"ILL": listed(`diabetes|type 1 diabetes|coeliac disease|Crohn's|asthma|epilepsy|migraines|arthritis|
high blood pressure|a heart condition|kidney disease|COPD|multiple sclerosis|Parkinson's|lupus|eczema|psoriasis|vertigo|tinnitus|
dementia|autism|ADHD|dyslexia|anxiety|depression|chronic fatigue|fibromyalgia|osteoporosis|gout|reflux|IBS|glaucoma|
macular degeneration|narcolepsy|sleep apnoea|a pacemaker|a slipped disc|a bad back|bad knees|a heart murmur|endometriosis|
haemophilia|long covid`),
	"DIET": listed(`vegetarian|vegan|pescatarian|halal|kosher|gluten free|dairy free|low carb|low salt|sugar free|
plant based|low FODMAP`),
	"LIMIT": listed(`a wheelchair|crutches|a walking stick|a walker|a white cane|a guide dog|hearing aids|
a screen reader|captions|sign language|an oxygen tank|a prosthetic leg`),
	"CANNOT": listed(`climb stairs|lift anything heavy|kneel|stand for long|walk far|drive|drive at night|swim|
ride a bike|read small print|hear on the left side|sit for more than an hour|bend down|use my right hand|fly|be in crowds|
take lifts|climb ladders|be out in the sun|be around smoke|run`),
	"KIN": listed(`my son|my daughter|my little one|my wife|my husband|my partner|my girlfriend|my boyfriend|the baby|
our toddler|my mother, who lives with us,|my father, whom I look after,|my grandson, who stays with us,|my youngest|my eldest|
one of my kids`),
	"OTHER": listed(`my colleague|my boss|a neighbour|the neighbour's boy|a friend of mine|my friend's daughter|
an old classmate|my dentist|a customer|one of my students|my landlord|a cousin in Canada|my hairdresser|the singer|
the guy at the gym|a woman on the bus|my coworker's wife|the new intern`),
	"MONEY": listed(`20 euros|50 pounds|100 dollars|30 a week|400 a month|200 euros|15 quid|60 dollars a week|
1,000 a month|250`),
	"HATE": listed(`olives|coriander|musicals|horror films|loud music|open-plan offices|chain hotels|camping|
crowded beaches|country music|ketchup|small talk|phone calls|video calls|group tours|shopping malls|gyms|cruises|buffets|podcasts|
ebooks|crypto|clowns|neon colours|strong perfume|karaoke`),
	"PLACE": listed(`Rotterdam|Leeds|Porto|Nairobi|Chicago|Berlin|a small village|the city centre|the fourth floor|
my sister's flat`),
	"JOB": listed(`nurse|teacher|accountant|carpenter|driver|baker|engineer|librarian|farmer|designer|waiter|student|
translator`),
	"HOBBY": listed(`the violin|chess|football|pottery|knitting|salsa|photography|badminton|gardening|sailing|Spanish|
the guitar|baking`),
	"PERSON": listed(`Ana|Tomas|the user|Priya|Kofi|Marek|Ines|Yusuf|Mei|Olga|Liam|Sofia`),
}

func listed(s string) []string { return strings.Split(strings.ReplaceAll(s, "\n", ""), "|") }

// patterns are statements with places, by how much they bind. A binding pattern tells about the speaker or a person
// in the speaker's care. The other patterns use the same words about other people, past things, books, meals or
// questions.
var patterns = map[corpus.Binding][]string{
	corpus.BindsAlways: listed(`I'm allergic to FOOD|I am allergic to FOOD and THING|allergic to THING here|I can't eat FOOD|
I can't have FOOD|no FOOD for me|FOOD makes me ill|FOOD gives me hives|FOOD sends me to hospital|I don't tolerate FOOD|
I react badly to THING|THING gives me a rash|THING sets off my asthma|the doctor told me to stay off FOOD for good|I'm DIET|
we are DIET at home|I've been DIET for years|I only eat DIET food|I follow a DIET diet|I don't eat FOOD for religious reasons|
we don't eat FOOD, we're Muslim|I gave up FOOD years ago and won't touch it again|I have ILL|I've got ILL|I live with ILL|
I've had ILL since I was a kid|I take tablets for ILL every day|because of my ILL I have to be careful|I use LIMIT|I need LIMIT|
I get around with LIMIT|I can't CANNOT|I can't CANNOT any more|I am not able to CANNOT|I can no longer CANNOT|
with ILL I can't CANNOT|KIN is allergic to FOOD|KIN can't have FOOD|KIN has ILL|KIN uses LIMIT|KIN is DIET|KIN reacts to THING|
KIN has ILL so I plan around it|I look after my mother, who has ILL|I care for my brother with ILL|I have two small children|
I'm a single parent of three|we have a newborn|I'm pregnant|I'm five months pregnant|I can't spend more than MONEY|
my limit is MONEY and that's all we have|I have to live on MONEY|money is tight, MONEY at most|
I'm on a pension and have MONEY for everything|I don't drink, sober since years|I'm in recovery, no alcohol|I have a phobia of dogs|
I panic in small spaces|PERSON is allergic to FOOD|PERSON has ILL|PERSON is DIET|PERSON uses LIMIT|PERSON cannot eat FOOD|
PERSON does not eat FOOD|PERSON's daughter is allergic to FOOD|PERSON cares for a father with ILL|PERSON can spend at most MONEY|
PERSON is pregnant|PERSON does not drive`),
	corpus.BindsTaste: listed(`I hate HATE|I can't stand HATE|I never want to see HATE again|I loathe HATE|please no HATE, ever|
I always avoid HATE|I won't do HATE|I can't bear HATE|PERSON hates HATE|PERSON never wants HATE|I hate FOOD|
FOOD is disgusting to me|I never buy new things|I always want an aisle seat|I refuse to fly short distances|
I only ever buy second hand|keep your answers short, always|never use emojis with me|I never answer the phone before ten|
I prefer trains to planes, always`),
	corpus.BindsNot: listed(`OTHER is allergic to FOOD|OTHER has ILL|OTHER can't have FOOD|OTHER is DIET|OTHER uses LIMIT|
OTHER told me about ILL|OTHER was diagnosed with ILL|I heard OTHER can't eat FOOD|PERSON's colleague is allergic to FOOD|
OTHER is pregnant|OTHER doesn't drink|I used to be DIET but I eat everything now|I used to be allergic to FOOD, it's gone|
I had ILL as a child, long over|my doctor says I don't have ILL after all|I was on crutches last year, all healed|I love FOOD|
I bought FOOD today|the recipe needs FOOD|we had FOOD for dinner|I made a soup with FOOD|do you have a recipe with FOOD|
how long do I cook FOOD|is there FOOD in this|I'm reading a book about ILL|there was a programme on ILL|I wrote an essay on ILL|
I work with people who have ILL|what are the symptoms of ILL|how common is ILL|in the film he has ILL|my character is DIET|
the restaurant is DIET|many people are allergic to FOOD|people with ILL should avoid FOOD|I sell FOOD at the market|
I grow FOOD in the garden|it cost MONEY|I paid MONEY for it|the ticket was MONEY|we raised MONEY for charity|I earn MONEY there|
the phone was MONEY and it broke|I live in PLACE|I moved to PLACE last month|I work as a JOB|I'm a JOB in PLACE|I've started HOBBY|
I play HOBBY on Tuesdays|I love HOBBY|my sister plays HOBBY|I went to PLACE with friends|I'm learning HOBBY|PERSON lives in PLACE|
PERSON works as a JOB|PERSON likes HOBBY|PERSON's neighbour has ILL|I like FOOD|FOOD is cheap there|I quit my job as a JOB|
I'll be in PLACE on Friday|I prefer the second version|I never got your mail|I can't open the file|I can't come on Friday|
I can't find the receipt|I don't know PERSON|I have a JOB friend in PLACE|I have three meetings today|I've got a new bike|
I have an old car|I use vim|I use a kettle from my grandma|I only need one copy|I always forget the name|no idea about HOBBY|
no problem|no news from PERSON|my daughter plays HOBBY|my son works as a JOB|my wife is from PLACE|my husband likes HOBBY|
the baby laughed today|my mother moved to PLACE|I have 64 gb and a white case|without a case|I wear jeans|
I drink tea in the morning|I run on Sundays|I take the bus to work|I sleep well these days`),
}

// phrased draws a statement from the patterns.
func phrased(r *rand.Rand, label corpus.Binding) string {
	said := strings.Fields(patterns[label][r.IntN(len(patterns[label]))])
	for i, w := range said {
		place := strings.TrimRight(w, ",.'s")
		if f := fillers[place]; f != nil {
			said[i] = f[r.IntN(len(f))] + w[len(place):]
		}
	}
	out := strings.Join(said, " ")
	if r.IntN(2) == 0 {
		out = strings.ToUpper(out[:1]) + out[1:] + "."
	}
	return out
}

package embedded

import "github.com/mneme-memory/mneme/shared/text"

var (
	firstPerson  = text.WordSet("i i'm i've i'd i'll im ive my mine me myself we we're we've we'd we'll our ours us ourselves")
	secondPerson = text.WordSet("you you're you've you'd you'll your yours yourself")
)

// thirdPerson words open a sentence that tells of somebody or something the speaker knows.
var thirdPerson = text.WordSet("he she they he's she's they're it's it his her their the there there's")

// smallTalk are words that fill a reply without telling anything.
var smallTalk = text.WordSet(`hey hi hello hiya yo bye goodbye morning evening thanks thank thx ty please sorry welcome cheers yeah yea
	yep yes yup no nope nah ok okay sure right exactly absolutely definitely totally agree agreed true indeed certainly wow whoa woah
	ooh oh ah aw aww hmm mmm haha hahaha lol omg yay hooray congrats congratulations great good nice cool awesome amazing fantastic
	wonderful lovely excellent incredible impressive inspiring super perfect sweet fun glad happy excited proud pleased love loved like
	sounds sound looks look seems seem know think guess mean see say said tell really truly actually honestly basically literally
	pretty quite well anyway btw just even still always never ever again maybe thing things stuff lot lots kind sort bit way something
	anything everything nothing someone anyone everyone get got go going keep let make take hope wish care luck chat talk catch soon
	later take much many more most better best new long back hear heard been doing up down gonna wanna gotta cause 'cause inspired
	inspire inspires inspiration motivated motivating motivation motivate positive positivity impact difference dedication dedicated
	effort passion passionate determination determined resilience resilient strength courage proud special meaningful rewarding
	fulfilling grateful blessed important reminder moment moments joy happiness beautiful beauty cute gorgeous stunning delicious tasty
	yummy appreciate appreciated thoughtful kind kindness worth deserve nailed rock rocks killing crushing cool stuff hard believe
	truly absolutely matter matters helpful helps forward push pushing stay staying`)

// reactions open a sentence that mostly answers the other one.
var reactions = text.WordSet(`wow whoa woah thanks thank congrats congratulations glad great nice cool awesome amazing yay aww aw that's
	sounds sound absolutely definitely exactly totally agreed hey hi hello bye haha lol good keep take`)

// orders cheer somebody on ("keep going"), unless the speaker says what they do ("I keep thinking of it").
var orders = text.WordSet("keep take")

// timeWords tell of when or how often.
var timeWords = text.WordSet(`yesterday today tonight tomorrow ago last next week weeks weekend weekends month months year years day days
	morning mornings evening evenings monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
	fridays saturdays sundays january february march april june july august september october november december summer winter spring
	autumn daily weekly monthly yearly annually usually often sometimes since recently lately every once twice one two three four five
	six seven eight nine ten`)

// tellingWords tell of what somebody is, has, does, plans or likes.
var tellingWords = text.WordSet(`live lives lived moved move born grew work works worked working job career boss office company business
	started start starting married engaged divorced dating single wife husband partner girlfriend boyfriend son daughter kids children
	mom mum dad mother father sister brother family parents grandma grandpa friend friends dog dogs cat cats pet pets puppy kitten
	bought buy got adopted made built wrote read reading painted paint painting cooked cook baked visited visit went trip travel
	traveled travelled flew drove met joined join signed volunteered volunteer attended finished graduated passed won lost broke quit
	stopped learned learning studying study plan planning plans want wants hoping decided dream goal goals prefer prefers favorite
	favourite enjoy enjoys hate hates dislike allergic vegan vegetarian play plays played playing run runs ran running hike hiked
	hiking camping swim swimming yoga dance dancing sing called named birthday anniversary appointment doctor hospital surgery sick
	injury diagnosed car house home apartment school college university class course degree exam interview project team band book books
	movie movies song game games recommend recommended suggested remind booked scheduled`)

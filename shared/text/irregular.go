package text

import (
	"strings"
	"sync"
)

// irregularForms has the base form and then its irregular forms, a line each. It leaves out forms that are mostly
// another word, such as "rose", "ground" and "bit".
const irregularForms = `
beat beaten
become became
begin began begun
bend bent
bite bitten
blow blew blown
break broke broken
breed bred
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
come came
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fly flew flown
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lay laid
lead led
leap leapt
learn learnt
leave left
lend lent
light lit
lose lost
make made
mean meant
meet met
overcome overcame
pay paid
prove proven
ride rode ridden
ring rang rung
run ran
say said
see saw seen
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
spell spelt
spend spent
spill spilt
spin spun
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
undertake undertook undertaken
wake woke woken
wear wore worn
weep wept
win won
withdraw withdrew withdrawn
write wrote written
child children
foot feet
goose geese
knife knives
man men
mouse mice
person people
shelf shelves
tooth teeth
wife wives
woman women
`

// baseForms maps the stem of an irregular form to the stem of its base form.
var baseForms = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(irregularForms) {
		forms := strings.Fields(line)
		if len(forms) == 0 {
			continue
		}
		for _, form := range forms[1:] {
			out[Stem(form)] = Stem(forms[0])
		}
	}
	return out
})

// BaseForm returns the stem of the base form for the stem of an irregular English form: "grow" for "grew". It returns
// any other stem as it is. Stem itself keeps irregular forms apart.
func BaseForm(stem string) string {
	if base, ok := baseForms()[stem]; ok {
		return base
	}
	return stem
}

package embedded

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// weakWords are in many questions and carry little content.
var weakWords = text.WordSet(`tell know remember say said mention mentioned talk talked kind kinds type types
	thing things much many
	name long get go going went like do does did make made one time new use feel think want try recent recently
	last first`)

// otherWords maps the stem of a word in questions to stems of words in statements.
var otherWords = stemTable(map[string]string{
	"live": "residence moved based settled home", "residence": "lives moved", "home": "residence lives",
	"city": "residence lives moved", "address": "residence lives",
	"job": "work works employer nurse teacher engineer career", "occupation": "job work works",
	"profession": "job work works", "work": "job employer", "career": "job work", "employer": "work works joined",
	"company": "employer work", "old": "age birthday years", "age": "old birthday", "born": "birthday",
	"pet": "dog cat puppy kitten turtle rabbit", "pets": "dog cat puppy kitten turtle rabbit",
	"animal": "dog cat pet", "partner": "wife husband girlfriend boyfriend spouse", "spouse": "wife husband",
	"status": "relationship married single engaged divorced", "married": "wife husband wedding",
	"children": "kids son daughter child", "kids": "children son daughter", "hobby": "enjoys loves plays",
	"hobbies": "enjoys loves plays", "favorite": "favourite loves", "favourite": "favorite loves",
	"eat": "diet food vegan vegetarian", "vehicle": "car drives", "car": "drives", "drive": "car",
	"study": "major school university", "college": "university school", "exercise": "running gym yoga workout",
	"vacation": "holiday trip travel", "trip": "travel vacation holiday", "picture": "photo", "film": "movie",
	"movie": "film", "buy": "bought", "bought": "buy",
})

func stemTable(in map[string]string) map[string][]string {
	out := make(map[string][]string, len(in))
	for k, v := range in {
		for _, w := range strings.Fields(v) {
			out[text.Stem(k)] = append(out[text.Stem(k)], text.Stem(w))
		}
	}
	return out
}

// Package forget reads a user's requests to forget a statement, and finds the entries that such a request names. It
// decides by the form of the request and by its words, in seven languages. It is pure.
package forget

import (
	"slices"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Request is a request to forget.
type Request struct {
	// Said is the request in the user's words.
	Said string `json:"said"`
	// Object is the named subject, without the possessive: "phone number" for "forget my phone number".
	Object string `json:"object"`
	// Firm says that the request surely concerns the memory of the assistant. "Delete my draft" may concern a task.
	Firm bool `json:"firm,omitempty"`
}

// splitter is created once: that takes some milliseconds, and most turns never need it.
var splitter = sync.OnceValue(text.NewSplitter)

const (
	// maxObject is the maximum length of an object, in words. A weak request has a shorter one.
	maxObject, maxWeakObject = 8, 4
	// maxTurn is the length of a turn that is read for requests, in bytes. Longer turns are pasted texts.
	maxTurn = 4 << 10
)

// Read finds the requests of a turn to forget something. It returns the rest of the turn's text without them. Only
// words that are surely the user's own, in a user's turn, make a request.
func Read(t memory.Turn) (rest string, requests []Request) {
	if t.Role != memory.RoleUser || len(t.Text) > maxTurn || !mayAsk(t.Text) {
		return t.Text, nil
	}
	rest = t.Text
	sure := " " + text.Canonical(text.Sure(t.Text, t.Speaker)) + " "
	for _, b := range text.Blocks(t.Text) {
		if b.Kind != text.Prose {
			continue
		}
		for _, sentence := range splitter().Sentences(b.Text) {
			for _, clause := range clauses(sentence) {
				r, ok := parse(clause)
				if !ok || !strings.Contains(sure, " "+text.Canonical(clause)+" ") {
					continue
				}
				requests = append(requests, r)
				rest = strings.Replace(rest, clause, "", 1)
			}
		}
	}
	if len(requests) > 0 {
		rest = strings.Trim(rest, ",;:–—-?!. \n\t")
		if !slices.ContainsFunc(text.Words(rest), func(w text.Word) bool { return !polite[w.Lower] && !behind[w.Lower] }) {
			rest = ""
		}
	}
	return rest, requests
}

// mayAsk reports whether a text has a word of a request. Most turns have none.
func mayAsk(said string) bool {
	return slices.ContainsFunc(text.Words(said), func(w text.Word) bool {
		return strong[w.Lower] || weak[w.Lower] || keep[w.Lower]
	})
}

// clauses cuts a sentence at its marks. A clause about an earlier statement stays with the verb before it.
func clauses(sentence string) []string {
	var out []string
	from := 0
	for i, c := range sentence {
		if !strings.ContainsRune(",;:–—", c) || i < from {
			continue
		}
		words := text.Words(sentence[i:])
		if len(words) > 0 && reported[words[0].Lower] {
			continue
		}
		out = append(out, strings.TrimSpace(sentence[from:i]))
		from = i + len(string(c))
	}
	return append(out, strings.TrimSpace(sentence[min(from, len(sentence)):]))
}

// parse reads a clause as a request.
func parse(clause string) (Request, bool) {
	var words []string
	for _, w := range text.Words(clause) {
		words = append(words, w.Lower)
	}
	words, isNamed := trim(words)
	verb, isFirm, ok := verbOf(words)
	if !ok {
		return Request{}, false
	}
	rest := words[verb+1:]
	if verb == len(words)-1 { // in German and Dutch, the verb may be last
		for verb > 0 && !own[words[verb-1]] {
			verb--
		}
		if verb == 0 {
			return Request{}, false
		}
		verb--
		rest = words[verb : len(words)-1]
	}
	if !asks(words[:verb]) {
		return Request{}, false
	}
	object, isSaid, ok := objectOf(rest)
	isFirm = isFirm || isNamed || isSaid
	if !ok || len(object) > maxObject || !isFirm && (len(object) > maxWeakObject || has(object, places)) {
		return Request{}, false
	}
	return Request{Said: clause, Object: strings.Join(object, " "), Firm: isFirm}, true
}

// trim removes polite words and the name of the memory from the end of a request. The object may be in front of
// words such as "from your memory", and isNamed is then true.
func trim(words []string) (out []string, isNamed bool) {
	for len(words) > 0 && behind[words[len(words)-1]] {
		words = words[:len(words)-1]
	}
	if n := len(words); n > 0 && memories[words[n-1]] {
		k := n - 1
		for k > 0 && yours[words[k-1]] {
			k--
		}
		if k > 0 && from[words[k-1]] {
			return words[:k-1], true
		}
	}
	return words, false
}

// verbOf finds the verb of a request. A negation of the verb turns "remember" into a request, and "forget" into none.
// It stands before the verb, directly behind it, or at the end ("merk dir das nicht").
func verbOf(words []string) (place int, isFirm, ok bool) {
	for i, w := range words {
		if !strong[w] && !weak[w] && !keep[w] {
			continue
		}
		denied := has(words[:min(i+2, len(words))], denying) || denying[words[len(words)-1]]
		return i, !weak[w], denied == keep[w]
	}
	return 0, false, false
}

// asks reports whether the words before a verb only lead up to a request. "You forget" and "I could forget" do not.
func asks(lead []string) bool {
	for _, w := range lead {
		if !polite[w] && !modal[w] && !wish[w] && !denying[w] && !first[w] && !second[w] {
			return false
		}
	}
	switch {
	case has(lead, first):
		return has(lead, wish) && has(lead, second)
	case has(lead, second):
		return has(lead, modal) || has(lead, wish) || has(lead, denying)
	}
	return true
}

// objectOf returns the words of the object. The object is something of the user's own, or something that the user said.
func objectOf(words []string) (object []string, isSaid, ok bool) {
	k, isOwn, isReported := 0, false, false
	for ; k < len(words) && !isOwn; k++ {
		w := words[k]
		if !own[w] && !between[w] && !polite[w] && !first[w] && !second[w] && !reported[w] && !denying[w] {
			break
		}
		isOwn, isReported = own[w], isReported || reported[w]
		isSaid = isSaid || isReported && first[w]
	}
	for end := len(words); end > k && (between[words[end-1]] || denying[words[end-1]]); end-- {
		words = words[:end-1]
	}
	object = words[k:]
	return object, isSaid, (isOwn || isSaid) && len(termsOf(strings.Join(object, " "), text.English)) > 0
}

func has(words []string, set map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return set[w] })
}

// termsOf returns the content terms of a text in its language, or else in the expected one.
func termsOf(said string, expected text.Language) []string {
	return text.Detect(said, expected).SearchTerms(said)
}

// The words of requests, in English, Spanish, German, French, Portuguese, Italian and Dutch.
var (
	// strong verbs ask to forget.
	strong = text.WordSet(`forget olvida olvide olvidad olvidar olvides vergiss vergesst vergessen oublie oubliez oublier
		esquece esqueça esquecer dimentica dimentichi dimenticare vergeet vergeten`)
	// weak verbs may also concern a task.
	weak = text.WordSet(`delete remove erase wipe borra borre borrad borrar elimina elimine eliminar lösche löscht
		löschen entferne entfernen supprime supprimez supprimer efface effacez effacer apaga apague apagar cancella cancelli
		cancellare rimuovi verwijder verwijderen wis`)
	// keep verbs ask to forget with a negation, or behind "stop".
	keep = text.WordSet(`remember memorize memorise keep store save record remembering keeping storing saving recuerdes
		recordar guardes guardar merk merke merken speichere speichern behalte behalten retiens retenez retenir garde gardez
		garder mémorise mémorisez lembre guarde ricordare ricordarti salvare onthoud onthouden bewaar bewaren`)
	denying = text.WordSet(`don't dont not never stop no nunca nicht nie niemals ne pas jamais n'oublie n'oubliez não
		nunca non mai niet nooit`)
	// own words are possessives of the speaker.
	own = text.WordSet(`my our mi mis nuestro nuestra nuestros nuestras mein meine meinen meinem meiner meines unser
		unsere unseren mon ma mes notre nos meu minha meus minhas mio mia miei mie mijn ons onze`)
	// first and second are the two people of a request.
	first  = text.WordSet(`i i've i'd we yo dije conté mencioné ich wir je j'ai nous eu disse contei io ho ik wij we`)
	second = text.WordSet(`you tú usted du dir sie ihr tu te t'ai vous você lei ti je jij jou u`)
	modal  = text.WordSet(`can could would will should must may please puedes podrías puede podría kannst könntest
		könnten können peux peut pouvez pourrais pourriez pode podes poderia puoi potresti può kun kunt kan zou`)
	wish = text.WordSet(`want like need i'd quiero quisiera möchte will veux voudrais quero queria voglio vorrei wil`)
	// polite words lead up to a request.
	polite = text.WordSet(`please kindly just now so and then also hey ok okay to por favor que bitte mal jetzt also und
		dass s'il plaît et donc e então per favore alsjeblieft alstublieft en nu`)
	// behind words may end a request.
	behind = text.WordSet(`please thanks now again anymore altogether immediately completely for me por favor gracias
		bitte danke jetzt wieder s'il te vous plaît merci obrigado obrigada grazie alsjeblieft dank`)
	// reported words begin a clause about an earlier statement.
	reported = text.WordSet(`what that everything anything all lo que todo was dass alles ce tout o tudo quello che tutto
		wat dat`)
	// between words may stand between the verb and the object.
	between = text.WordSet(`about regarding concerning on of the fact any all memory memories note notes information info
		data said told mentioned wrote shared gave have had dicho contado sobre acerca de del el la los las nota notas über
		von zu den die das dir gesagt erzählt erwähnt geschrieben habe hatte dit raconté parlé sur au sujet propos les dito
		contado do da dos das detto raccontato su il lo i gli le over gezegd verteld het heb`)
	// places name another target than the memory.
	places = text.WordSet(`from in on off at out under inside within`)
	from   = text.WordSet(`from in de del da dal aus uit van`)
	yours  = text.WordSet(`your the what you tu su tus la ta votre vos deinem deinen ihrem ihren dem sua tua je jouw uw`)
	// memories name the memory of the assistant.
	memories = text.WordSet(`memory memories records record notes profile database files know memoria registros
		gedächtnis speicher mémoire memória geheugen`)
)

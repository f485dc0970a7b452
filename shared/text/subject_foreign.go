package text

import (
	"slices"
	"strings"
	"sync"
)

// grammar has the words of a language that mark the subject of a statement.
type grammar struct {
	code string
	// self are forms of the first person except possessives. verbs are common verbs of the first person, for
	// languages that leave the pronoun out. ending ends verbs of "we".
	self, verbs string
	ending      string
	// articles may stand before owners. owners belong to the speaker, others to another person.
	articles, owners, others string
	// pronouns refer to another person. The unsure ones do so only before one of sureVerbs.
	pronouns, unsure, sureVerbs string
	companions                  string
	// lives are verbs with which only persons are the subject, unless it is one of things; determiners stand before
	// companions.
	lives, things, determiners string
	// ends are words that end the phrase of an owner. joins are the ends that join statements.
	ends, joins string
}

var grammars = []grammar{
	{
		code: "de", self: "ich mich mir wir uns", owners: "mein meine meinem meinen meiner meines unser unsere unserem " +
			"unseren unserer",
		others:   "sein seine seinem seinen seiner ihr ihre ihrem ihren ihrer dein deine deinem deinen deiner euer eure",
		pronouns: "er sie du",
		companions: `mutter mama mutti vater papa eltern bruder brüder schwester schwestern geschwister sohn söhne tochter töchter kind kinder
			baby frau mann ehemann ehefrau partner partnerin freund freundin freunde freundinnen verlobter verlobte tante onkel cousin cousine
			neffe nichte oma opa großmutter großvater großeltern enkel enkelin schwager schwägerin schwiegermutter schwiegervater
			schwiegereltern kollege kollegin kollegen chef chefin mitbewohner mitbewohnerin nachbar nachbarin nachbarn vermieter vermieterin
			lehrer lehrerin arzt ärztin trainer trainerin hund hunde katze katzen kater`,
		lives: `wohnt wohnen lebt leben zog zieht ziehen umgezogen arbeitet arbeiten isst essen trinkt trinken liebt lieben mag mögen hasst hassen
			spricht sprechen studiert studieren`,
		things: `firma büro arbeitgeber unternehmen team abteilung arbeit job hund`, determiners: "der die das",
		ends: "als wie mit von für auf in an bei zu aus über und oder aber", joins: "und aber",
	},
	{
		code: "es", self: "yo mí conmigo me nos nosotros nosotras", ending: "mos",
		verbs: `vivo trabajo tengo soy estoy voy quiero necesito prefiero puedo hago bebo leo estudio hablo viajo juego llevo sé nací compré
			odio adoro he`,
		owners: "mi mis nuestro nuestra nuestros nuestras", others: "su sus tu tus vuestro vuestra",
		pronouns: "él ella ellos ellas tú usted",
		companions: `madre mamá padre papá padres hermano hermana hermanos hermanas hijo hija hijos hijas bebé esposa esposo mujer marido
			pareja novio novia tía tío tíos primo prima primos sobrino sobrina abuela abuelo abuelos nieto nieta suegra suegro suegros cuñado
			cuñada amigo amiga amigos amigas colega compañero compañera jefe jefa vecino vecina vecinos casero casera profesor profesora médico
			médica perro perra gato gata`,
		lives:  `vive viven reside residen mudó mudaron trabaja trabajan come comen bebe beben ama odia habla hablan estudia estudian`,
		things: `empresa oficina trabajo negocio equipo casa`, determiners: "el la los las",
		ends: "como de del con en para por sin y e o pero que", joins: "y e pero aunque mientras",
	},
	{
		code: "fr", self: "je j moi me m nous", owners: "mon ma mes notre nos",
		others:   "son sa ses ton ta tes leur leurs votre vos",
		pronouns: "elle ils elles tu", unsure: "il",
		sureVerbs: `est a vit habite travaille aime déteste adore préfère mange boit possède joue étudie parle veut va vient était avait sera
			aura n'est n'a s'est s'appelle ne se déménage a`,
		companions: `mère maman père papa parents frère frères sœur sœurs soeur soeurs fils fille filles enfant enfants bébé femme mari épouse
			époux conjoint conjointe compagnon compagne copain copine fiancé fiancée tante oncle cousin cousine neveu nièce mamie papi
			grand-mère grand-père grands-parents belle-mère beau-père beau-frère belle-sœur ami amie amis amies collègue collègues chef patron
			patronne colocataire voisin voisine voisins propriétaire prof professeur médecin chien chienne chat chatte`,
		lives: `habite habitent vit vivent travaille travaillent déménagé mange mangent boit boivent aime aiment déteste détestent
			étudie étudient`,
		things: `entreprise bureau boîte travail équipe société peau`, determiners: "le la les",
		ends: "comme de du des avec en dans à pour par et ou mais", joins: "et mais",
	},
	{
		code: "pt", self: "eu mim comigo me gente nós conosco connosco", ending: "mos",
		verbs: `moro vivo trabalho tenho sou estou vou quero preciso prefiro posso faço bebo leio estudo falo viajo jogo sei nasci comprei odeio
			adoro`,
		articles: "o a os as", owners: "meu minha meus minhas nosso nossa nossos nossas",
		others:   "seu sua seus suas teu tua teus tuas",
		pronouns: "ele ela eles elas você",
		companions: `mãe mamãe pai papai pais irmão irmã irmãos irmãs filho filha filhos filhas bebê bebé esposa esposo mulher marido parceiro
			parceira namorado namorada noivo noiva tia tio tios primo prima primos sobrinho sobrinha avó avô avós neto neta sogra sogro sogros
			cunhado cunhada amigo amiga amigos amigas colega colegas chefe vizinho vizinha vizinhos senhorio senhoria professor professora
			médico médica cachorro cachorra cão gato gata`,
		lives:  `mora moram vive vivem mudou mudaram trabalha trabalham come comem bebe bebem ama odeia fala falam estuda estudam`,
		things: `empresa escritório trabalho negócio equipa equipe casa`, determiners: "o a os as",
		ends: "como de do da com em no na para por sem e ou mas que", joins: "e mas enquanto",
	},
	{
		code: "it", self: "io me mi m noi", ending: "iamo",
		verbs:    `vivo abito lavoro ho sono sto vado voglio preferisco posso faccio bevo leggo studio parlo viaggio gioco odio adoro`,
		articles: "il lo la l i gli le", owners: "mio mia miei mie nostro nostra nostri nostre",
		others: "suo sua suoi sue tuo tua tuoi tue loro", pronouns: "lui lei egli tu loro",
		companions: `madre mamma padre papà babbo genitori fratello sorella fratelli sorelle figlio figlia figli figlie bambino bambina bambini
			bimbo bimba moglie marito compagno compagna partner fidanzato fidanzata ragazzo ragazza zia zio zii cugino cugina cugini nipote
			nipoti nonna nonno nonni suocera suocero suoceri cognato cognata amico amica amici amiche collega colleghi capo vicino vicina
			vicini coinquilino coinquilina padrone professore professoressa medico cane gatto gatta`,
		lives: `abita abitano vive vivono trasferito trasferita lavora lavorano mangia mangiano beve bevono ama odia parla parlano
			studia studiano`,
		things: `azienda ufficio ditta lavoro squadra casa`, determiners: "il lo la i gli le",
		ends: "come di del della con in per da su e o ma che", joins: "e ma mentre",
	},
}

// reader is a grammar, ready to read.
type reader struct {
	language                                Language
	ending                                  string
	self, verbs, articles, owners, others   map[string]bool
	pronouns, unsure, sureVerbs, companions map[string]bool
	lives, things, determiners, ends, joins map[string]bool
}

var readers = sync.OnceValue(func() []reader {
	var out []reader
	for _, g := range grammars {
		at := slices.IndexFunc(languages[:], func(l languageEntry) bool { return l.code == g.code })
		out = append(out, reader{
			Language(at), g.ending, WordSet(g.self), WordSet(g.verbs), WordSet(g.articles), WordSet(g.owners),
			WordSet(g.others), //nolint:gosec // a few
			WordSet(g.pronouns), WordSet(g.unsure), WordSet(g.sureVerbs), WordSet(g.companions),
			WordSet(g.lives), WordSet(g.things), WordSet(g.determiners), WordSet(g.ends), WordSet(g.joins),
		})
	}
	return out
})

// relatedSubject reads a statement that begins with a person and their owner, in a language other than English. ok
// is false for other statements.
func relatedSubject(words []Word) (s Subject, ok bool) {
	for _, r := range readers() {
		rest := words
		if len(rest) > 1 && r.articles[rest[0].Lower] && (r.owners[rest[1].Lower] || r.others[rest[1].Lower]) {
			rest = rest[1:]
		}
		if len(rest) < reach {
			continue
		}
		owned := r.owners[rest[0].Lower] || r.others[rest[0].Lower]
		c := ""
		switch {
		case owned:
			c = companionIn(rest[1:min(len(rest), reach+1)], r.companions, func(w string) bool { return r.ends[w] })
			if c == "" {
				c = r.acting(rest[1:])
			}
		case r.determiners[rest[0].Lower] && r.companions[rest[1].Lower] && r.lives[rest[2].Lower]:
			c = rest[1].Lower
		}
		if c == "" {
			continue
		}
		if r.saysSelf(words) {
			return Subject{Speaker: true}, true
		}
		s = Subject{Other: true, Person: true, Heads: []string{c}}
		if r.owners[rest[0].Lower] {
			s.Relation = c
		}
		return s, true
	}
	return Subject{}, false
}

// acting returns the noun at the beginning of some words, in lower case, if its verb makes it a person. It is empty
// otherwise.
func (r reader) acting(words []Word) string {
	for _, w := range words[:min(len(words), reach+1)] {
		switch {
		case r.lives[w.Lower]:
			return words[0].Lower
		case r.things[w.Lower], r.ends[w.Lower]:
			return ""
		}
	}
	return ""
}

// pronounSubject reads a statement that begins with a pronoun, or speaks of its speaker, in a language other than
// English.
func pronounSubject(said string, words []Word) Subject {
	for _, r := range readers() {
		switch {
		case len(words) == 0 || Detect(said, r.language) != r.language:
		case r.saysSelf(words):
			return Subject{Speaker: true}
		case len(words) < reach:
		case r.pronouns[words[0].Lower], r.unsure[words[0].Lower] && r.sureVerbs[words[1].Lower],
			r.lives[words[0].Lower] && (r.pronouns[words[1].Lower] || r.unsure[words[1].Lower]): // "jetzt wohnt er"
			return Subject{Other: true, Person: true}
		}
	}
	return Subject{}
}

// saysSelf reports whether a statement has the first person: a pronoun, or a verb at its beginning or after a
// joining word.
func (r reader) saysSelf(words []Word) bool {
	const leastVerb = 5
	opens := true
	for _, w := range words {
		first, _, _ := strings.Cut(w.Lower, "'")
		switch {
		case r.self[first], opens && r.verbs[w.Lower]:
			return true
		case r.ending != "" && len(w.Lower) >= leastVerb && strings.HasSuffix(w.Lower, r.ending):
			return true
		}
		opens = r.joins[w.Lower] || opens && denying[w.Lower]
	}
	return false
}

// denying words and adverbs of time may stand before a verb that leaves its pronoun out.
var denying = WordSet("no não non ahora agora adesso ora ya já già actualmente atualmente attualmente también " +
	"também anche")

// spanishParticiples are irregular.
var spanishParticiples = WordSet("hecho visto dicho escrito puesto vuelto abierto roto muerto sido estado ido cubierto")

// isSpanishPerfect reports whether a word behind "he" makes it a Spanish verb of the first person: "He comprado un
// coche."
func isSpanishPerfect(next string) bool {
	return spanishParticiples[next] || strings.HasSuffix(next, "ado") || strings.HasSuffix(next, "ido")
}

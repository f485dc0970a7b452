package text

import (
	"slices"
	"strings"
	"sync"
)

// selfWords are pronouns of the first person without accents, by the code of the language.
var selfWords = map[string]map[string]bool{
	"en": WordSet("i my me mine i'm i've"), "ar": WordSet("أنا"), "da": WordSet("jeg mig min mit mine"),
	"de": WordSet("ich mich mir mein meine meinen meinem meiner meines"), "es": WordSet("yo mi mis me conmigo"),
	"fi": WordSet("mina minun minua"), "fr": WordSet("je j moi mon ma mes me m"), "hu": WordSet("en engem nekem"),
	"it": WordSet("io mio mia miei mie mi me"), "ja": WordSet("私 僕 俺"), "nl": WordSet("ik mij mijn me"),
	"no": WordSet("jeg meg min mitt mine"), "pt": WordSet("eu meu minha meus minhas mim me"),
	"ro": WordSet("eu ma mie meu mea mei mele"),
	"ru": WordSet("я меня мне мнои мои моя мое моего моеи моих мою моем"), "sv": WordSet("jag mig min mitt mina"),
	"th": WordSet("ฉัน ผม"), "tr": WordSet("ben benim bana beni"), "zh": WordSet("我"),
}

// SaysI reports whether a text in this language has a pronoun of the first person. words are the words of said.
func (l Language) SaysI(said string, words []Word) bool {
	self := selfWords[l.String()]
	if l != English && !l.stems() {
		for w := range self {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(words, func(w Word) bool {
		if l == English {
			return self[w.Lower]
		}
		first, _, _ := strings.Cut(foldAccents(w.Lower), "'")
		return self[first]
	})
}

// OwnVerbLanguages returns the languages that leave the pronoun out, and in which one of the words is a verb in the
// first person. It knows common verbs of Spanish, Portuguese and Italian.
func OwnVerbLanguages(words []Word) []Language {
	var out []Language
	for _, r := range readers() {
		if slices.ContainsFunc(words, func(w Word) bool { return r.verbs[w.Lower] }) {
			out = append(out, r.language)
		}
	}
	return out
}

// IsSubjectPronoun reports whether a lower-case English word is a pronoun that stands directly before its verb.
func IsSubjectPronoun(lower string) bool { return pronouns[lower] }

var pronouns = WordSet("i you he she it we they")

// IsCompanion reports whether a lower-case word names a companion of a person, such as a brother or a dog, in some
// language.
func IsCompanion(lower string) bool { return allCompanions()[strings.TrimSuffix(lower, "'s")] }

// allCompanions are the words for companions of all languages.
var allCompanions = sync.OnceValue(func() map[string]bool {
	out := companions
	for _, r := range readers() {
		out = Union(out, r.companions)
	}
	return out
})

// NamesUser reports whether word i of a text is "the user" in some language. It is false where the word is part of
// another noun, as in "user manual".
func NamesUser(words []Word, i int) bool {
	lower := strings.TrimSuffix(words[i].Lower, "'s")
	if i+1 < len(words) && userThings[words[i+1].Lower] {
		return false
	}
	if lower == "user" {
		return i > 0 && (words[i-1].Lower == "the" || words[i-1].Lower == "this")
	}
	return userNouns[lower] || slices.ContainsFunc(unspacedUsers, func(cue string) bool {
		return strings.HasPrefix(lower, cue)
	})
}

var (
	userNouns     = wordLists.Set("userNouns")
	unspacedUsers = []string{"用户", "用戶", "ユーザー", "사용자", "ผู้ใช้"}
)

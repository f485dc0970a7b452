package text

import (
	"slices"
	"strings"
	"sync"
)

// allCompanions are the words for companions of all languages.
var allCompanions = sync.OnceValue(func() map[string]bool {
	out := companions
	for _, r := range readers() {
		out = Union(out, r.companions)
	}
	return out
})

// AsksAboutUser reports whether a question is about the user of the memory. Such a question speaks in the first
// person, or of "the user". It names no companion of the user.
func AsksAboutUser(question string) bool {
	words := Words(question)
	about := Detect(question, English).SaysI(question, words) || asksOneself(words)
	for i, w := range words {
		if allCompanions()[strings.TrimSuffix(w.Lower, "'s")] {
			return false
		}
		about = about || NamesUser(words, i)
	}
	return about
}

// asksOneself reports whether a question has a verb in the first person, in a language that leaves the pronoun out:
// "¿Dónde vivo?"
func asksOneself(words []Word) bool {
	return len(words) > 1 && slices.ContainsFunc(readers(), func(r reader) bool {
		return askingSet()[r.language][foldAccents(words[0].Lower)] && slices.ContainsFunc(words[1:],
			func(w Word) bool { return r.verbs[w.Lower] })
	})
}

// NamesUser reports whether word i of a question is "the user", in some language, and no part of another noun.
func NamesUser(words []Word, i int) bool {
	lower := strings.TrimSuffix(words[i].Lower, "'s")
	if i+1 < len(words) && userThings[words[i+1].Lower] {
		return false
	}
	if lower == "user" {
		return i > 0 && (words[i-1].Lower == "the" || words[i-1].Lower == "this")
	}
	return userNouns[lower] || slices.ContainsFunc(unspacedUsers, func(cue string) bool { return strings.HasPrefix(lower, cue) })
}

var (
	userNouns = WordSet(`nutzer nutzerin nutzers benutzer benutzerin benutzers usuario usuaria utente usuário usuária utilisateur utilisatrice
		l'utilisateur l'utilisatrice l'utente gebruiker användaren kullanıcı użytkownik użytkownika пользователь пользователя пользователю`)
	unspacedUsers = []string{"用户", "用戶", "ユーザー", "사용자", "ผู้ใช้"}
)

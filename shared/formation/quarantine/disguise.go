package quarantine

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mneme-memory/mneme/shared/text"
)

var (
	lookalikes = strings.NewReplacer("а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "і", "i", "ѕ", "s", "ј", "j",
		"ο", "o", "α", "a", "ε", "e", "ι", "i", "ν", "v", "А", "A", "Е", "E", "О", "O", "С", "C", "Т", "T", "М", "M", "Н", "H", "К", "K")
	unleet      = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")
	spelled     = regexp.MustCompile(`\b(?:\pL[ .-]){3,}\pL\b`)
	joints      = strings.NewReplacer(" ", "", "-", "", ".", "")
	encodedWord = regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`)
)

// lower takes off invisible marks and the shapes of letters: full width, mathematical, and those of other scripts in a Latin word.
func lower(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
	words := strings.SplitAfter(s, " ")
	for i, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }) {
			words[i] = lookalikes.Replace(w)
		}
	}
	return strings.ToLower(strings.Join(words, ""))
}

// hidden reports whether a text says an order when it is read in another way: digits for letters, letter by letter, backwards, or decoded.
func hidden(said string) bool {
	plain := lower(said)
	readings := []string{unleet.Replace(plain), spelled.ReplaceAllStringFunc(plain, joints.Replace), html.UnescapeString(said)}
	if decoded, err := url.PathUnescape(said); err == nil {
		readings = append(readings, decoded)
	}
	for _, w := range encodedWord.FindAllString(said, 4) {
		for _, decode := range []func(string) ([]byte, error){
			base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString, hex.DecodeString,
		} {
			if raw, err := decode(w); err == nil && utf8.Valid(raw) {
				readings = append(readings, string(raw))
			}
		}
	}
	if !slices.ContainsFunc(text.Words(said), func(w text.Word) bool { return text.IsStopWord(w.Lower) }) {
		backwards := []rune(plain)
		slices.Reverse(backwards)
		readings = append(readings, strings.Map(rot13, plain), string(backwards))
	}
	return slices.ContainsFunc(readings, func(r string) bool { return r != plain && r != said && isOrder(r) })
}

func rot13(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

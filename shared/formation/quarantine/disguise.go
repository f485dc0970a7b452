package quarantine

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mtibben/confusables"
	"golang.org/x/text/unicode/norm"

	"github.com/mneme-memory/mneme/shared/text"
)

var (
	unleet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")
	leet   = regexp.MustCompile(`[a-z][013457@$]|[013457@$][a-z]`)
	// shaped are letters in a ring, a square or a flag, and symbols between letters.
	shaped  = regexp.MustCompile(`[\x{2460}-\x{24FF}\x{3200}-\x{32FF}\x{1F100}-\x{1F1FF}\x{2600}-\x{27BF}]`)
	spelled = regexp.MustCompile(`(?:^|[^\pL\pN])(?:\pL[ .-]){3,}\pL(?:$|[^\pL\pN])`)
	joints  = strings.NewReplacer("-", "", ".", "")
	gaps    = regexp.MustCompile(`(\pL) (\pL)`)
	// spaced matches three or more words in spaced letters.
	spaced = regexp.MustCompile(`(?:^|[^\pL\pN])(?:\pL(?: \pL)+[ /|]{2,}){2,}\pL(?: \pL)+(?:$|[^\pL\pN])`)
	// encodedWord is text in base32, base64 or hexadecimal digits, which blanks may part.
	encodedWord = regexp.MustCompile(`(?:[0-9a-fA-F]{2} ){7,}[0-9a-fA-F]{2}|[A-Za-z0-9+/_-]{20,}={0,6}`)
	// rotated names the cipher that moves each letter by 13 places.
	rotated = regexp.MustCompile(`\brot[ -]?13\b`)
	// numbers are the codes of characters, in bits or in decimal digits.
	numbers = regexp.MustCompile(`(?:[01]{8}[ ,]*){8,}|(?:\b\d{2,3}\b[ ,]+){7,}\d{2,3}\b`)
)

// smallCapitals are the small capitals of Unicode with their letters. Unicode takes them for no form of a letter.
var smallCapitals = strings.NewReplacer("ᴀ", "a", "ʙ", "b", "ᴄ", "c", "ᴅ", "d", "ᴇ", "e", "ꜰ", "f", "ɢ", "g", "ʜ",
	"h", "ɪ", "i", "ᴊ", "j", "ᴋ", "k", "ʟ", "l", "ᴍ", "m", "ɴ", "n", "ᴏ", "o", "ᴘ", "p", "ꞯ", "q", "ʀ", "r", "ꜱ",
	"s", "ᴛ", "t", "ᴜ", "u", "ᴠ", "v", "ᴡ", "w", "ʏ", "y", "ᴢ", "z")

// latin are the letters that Unicode's table of confusables takes for letters of ASCII, by themselves.
var latin = sync.OnceValue(func() map[string]rune {
	out := map[string]rune{}
	for r := 'a'; r <= 'z'; r++ {
		out[confusables.Skeleton(string(r))] = r
	}
	for i, r := range []rune("внмткпгшяи") { // small letters that the table compares with capitals alone, or with none
		out[confusables.Skeleton(string(r))] = rune("bhmtknrwru"[i])
	}
	return out
})

// lookalike is the letter of ASCII that a letter looks like; itself where it looks like none.
func lookalike(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	if known, ok := latin()[confusables.Skeleton(string(r))]; ok {
		return known
	}
	return r
}

// fold removes accents, invisible marks, capitals and unusual letter shapes from a word. These are full-width and
// mathematical letters, and look-alikes of other scripts in a word that has Latin letters.
func fold(word string) string {
	if isPlain(word) {
		return strings.ToLower(word)
	}
	mixed := false
	word = smallCapitals.Replace(word)
	word = strings.Map(func(r rune) rune {
		if isInvisible(r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		mixed = mixed || r < utf8.RuneSelf && unicode.IsLetter(r)
		return r
	}, norm.NFKD.String(strings.ToLower(word)))
	word = strings.ReplaceAll(strings.ToLower(word), "ß", "ss")
	if mixed {
		word = strings.Map(lookalike, word)
	}
	return word
}

// isPlain reports whether a word is of ASCII.
func isPlain(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf })
}

// lower is a text in lower case without invisible marks and look-alikes.
func lower(s string) string {
	if isPlain(s) {
		return strings.ToLower(s)
	}
	s = strings.Map(func(r rune) rune {
		if isInvisible(r) || unicode.Is(unicode.Co, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(smallCapitals.Replace(s)))
	words := strings.SplitAfter(strings.ToLower(s), " ")
	for i, w := range words {
		if !isPlain(w) && strings.ContainsFunc(w, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }) {
			words[i] = strings.Map(lookalike, w)
		}
	}
	return strings.Join(words, "")
}

// unmixed is a text in which whole words of look-alikes stand among Latin ones, with these words in Latin; "" where
// there are none.
func unmixed(s string) string {
	if isPlain(s) || !strings.ContainsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }) {
		return ""
	}
	out := strings.Map(lookalike, strings.ToLower(s))
	if out == strings.ToLower(s) {
		return ""
	}
	return out
}

// hidden reports whether a text says an order when it is read in another way.
func hidden(said string) bool { return slices.ContainsFunc(readings(said), isOrder) }

// readings returns the other readings of a text: digits for letters, letter by letter, backwards, or decoded.
func readings(said string) []string {
	plain := lower(said)
	all := []string{unmixed(said), html.UnescapeString(said)}
	if strings.Contains(said, `\u`) {
		if decoded, err := strconv.Unquote(`"` + strings.ReplaceAll(said, `"`, "'") + `"`); err == nil {
			all = append(all, decoded)
		}
	}
	if shaped.MatchString(said) {
		all = append(all, norm.NFKC.String(said), shaped.ReplaceAllString(said, ""))
	}
	if leet.MatchString(plain) {
		all = append(all, unleet.Replace(plain))
	}
	if spelled.MatchString(plain) {
		all = append(all, spelled.ReplaceAllStringFunc(plain, func(s string) string {
			once := gaps.ReplaceAllString(joints.Replace(s), "$1$2")
			return " " + gaps.ReplaceAllString(once, "$1$2") + " "
		}))
	}
	if strings.Contains(said, "%") {
		if decoded, err := url.PathUnescape(said); err == nil {
			all = append(all, decoded)
		}
	}
	if strings.Contains(said, "?") {
		for _, at := range link.FindAllStringSubmatch(said, -1) {
			values, err := url.ParseQuery(strings.TrimRight(at[1], ".,;!?"))
			if err != nil {
				continue
			}
			for _, key := range slices.Sorted(maps.Keys(values)) {
				for _, v := range values[key] {
					all = append(all, strings.ReplaceAll(key+": "+v, "_", " "))
					all = append(all, decoded(v)...)
				}
			}
		}
	}
	all = append(all, decoded(said)...)
	hasStopWord := slices.ContainsFunc(text.Words(said), func(w text.Word) bool { return text.IsStopWord(w.Lower) })
	if !hasStopWord {
		backwards := []rune(plain)
		slices.Reverse(backwards)
		all = append(all, string(backwards))
	}
	if (!hasStopWord || rotated.MatchString(plain)) && isPlain(plain) {
		all = append(all, strings.Map(rot13, plain))
	}
	return slices.DeleteFunc(all, func(r string) bool { return strings.TrimSpace(r) == "" || r == plain || r == said })
}

func rot13(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

// decoded are the texts that words in base64 or in hexadecimal digits stand for.
func decoded(said string) []string {
	var out []string
	for _, w := range encodedWord.FindAllString(said, 4) {
		w = strings.ReplaceAll(w, " ", "")
		for _, decode := range []func(string) ([]byte, error){
			base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
			base64.RawURLEncoding.DecodeString, hex.DecodeString, base32.StdEncoding.DecodeString,
		} {
			if raw, err := decode(w); err == nil && utf8.Valid(raw) {
				out = append(out, string(raw))
			}
		}
	}
	for _, found := range numbers.FindAllString(said, 4) {
		if text, ok := spellCodes(found); ok {
			out = append(out, text)
		}
	}
	return out
}

// spellCodes returns the text that the codes of ASCII characters stand for.
func spellCodes(codes string) (string, bool) {
	var b strings.Builder
	for _, code := range strings.FieldsFunc(codes, func(r rune) bool { return r == ' ' || r == ',' }) {
		base := 10
		if len(code) == 8 {
			base = 2
		}
		n, err := strconv.ParseUint(code, base, 7)
		if err != nil || n < ' ' {
			return "", false
		}
		b.WriteByte(byte(n))
	}
	return b.String(), true
}

// leastDecoded is how many words behind an encoding are a message.
const leastDecoded = 4

// suspicious are the classes of a message that may be meant for an assistant.
const suspicious = orderly | acts | actsAnywhere | memo | your

// isEncoded reports whether a text hides a message that may be meant for an assistant.
func isEncoded(said string) bool {
	return slices.ContainsFunc(decoded(said), func(d string) bool {
		words := 0
		for _, w := range text.Words(d) {
			if strings.ContainsFunc(w.Lower, unicode.IsLetter) {
				words++
			}
		}
		s := read(d, 0)
		isSuspicious := s.all&suspicious != 0 || address.MatchString(d) || account.MatchString(d)
		return words >= leastDecoded && isSuspicious && !strings.ContainsFunc(d, isControl)
	})
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }

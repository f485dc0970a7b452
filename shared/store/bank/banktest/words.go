package banktest

import (
	"math"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// wordCases test which words of a query match which words of an entry.
func wordCases() []testCase {
	return []testCase{
		{"search matches words, not spellings", testSearchWords},
		{"search matches words of any language", testSearchLanguages},
		{"search by text scores as BM25 does", testSearchScores},
		{"search finds the best however late it came", testSearchLatest},
		{"a query of stop words goes by its vector", testSearchStopWords},
	}
}

// testSearchWords runs each query on one bank. Each query finds exactly one entry.
func testSearchWords(t *testing.T, b bank.Bank) {
	scope := newScope()
	contents := map[string]string{
		"swim": "Ana swims before breakfast", "move": "Ines moved to Lisbon", "date": "The recital is on 2023-05-01",
		"sister": "Omar's sister-in-law studies São Tomé", "will": "The parcel came from Will",
		"price": "The tent was $1,250.50",
	}
	entries := map[string]memory.Memory{}
	for name, text := range contents {
		entries[name] = entry(scope, len(entries), text)
		write(t, b, scope, put(entries[name]))
	}
	for query, want := range map[string]string{
		"swimming": "swim", "Who swam?": "swim", "SWIMS": "swim", "Where does she live now?": "move",
		"which residence": "move",
		"in 2023":         "date", "2023-05-01": "date", "omar’s": "sister", "in-law": "sister", "sao tome": "sister",
		"studied":          "sister",
		"What about Will?": "will", "1,250.50": "price",
	} {
		found := search(t, b, scope, bank.Query{Text: query})
		if len(found) != 1 || found[0].Memory.ID != entries[want].ID {
			t.Errorf("%q: got %d entries %+v, want only %q", query, len(found), found, contents[want])
		}
	}
}

// testSearchLanguages runs each query on one bank. The query has a word form that the entry lacks, or a script
// without spaces.
func testSearchLanguages(t *testing.T, b bank.Bank) {
	scope := newScope()
	contents := map[string]string{
		"de": "Meine Schwester hat das Haus mit den Gärten gekauft", "es": "Mi abuela cantaba unas canciones muy tristes",
		"ru": "Моя подруга купила красную машину", "ja": "四月に札幌の支社へ転勤することになりました", "zh": "我在成都买了一套小房子",
		"ko": "저는 제주도에서 감귤을 키워요", "th": "ฉันเลี้ยงกระต่ายสองตัว",
	}
	entries := map[string]memory.Memory{}
	for name, text := range contents {
		entries[name] = entry(scope, len(entries), text)
		write(t, b, scope, put(entries[name]))
	}
	for query, want := range map[string]string{
		"Wem gehören die Häuser mit Garten?": "de", "¿Qué canción cantó la abuela?": "es", "cancion": "es",
		"Какие машины у подруги?": "ru",
		"いつ札幌に転勤しましたか":            "ja", "札幌": "ja", "他想在哪个城市买房子？": "zh", "제주도는 어때요?": "ko", "กระต่าย": "th",
	} {
		found := search(t, b, scope, bank.Query{Text: query})
		if len(found) != 1 || found[0].Memory.ID != entries[want].ID {
			t.Errorf("%q: got %d entries %+v, want only %q", query, len(found), found, contents[want])
		}
	}
}

// testSearchScores compares the scores with the formula, calculated by hand, because the formula gives all stores the
// same order. It compares ratios, because stores may scale scores. The mean length may be approximate.
func testSearchScores(t *testing.T, b bank.Bank) {
	scope := newScope()
	const one, two, three = "zorb quix", "zorb zorb quix blem frob", "quix blem"
	entries := []memory.Memory{entry(scope, 0, one), entry(scope, 1, two), entry(scope, 2, three)}
	write(t, b, scope, put(entries...))
	idf := func(holders float64) float64 { return math.Log1p((3 - holders + 0.5) / (holders + 0.5)) }
	weight := func(tf, length float64) float64 {
		return tf * (bank.BM25.K1 + 1) / (tf + bank.BM25.K1*(1-bank.BM25.B+bank.BM25.B*length/3))
	}
	scores := map[string]float64{
		entries[0].ID: idf(2)*weight(1, 2) + idf(3)*weight(1, 2),
		entries[1].ID: idf(2)*weight(2, 5) + idf(3)*weight(1, 5),
		entries[2].ID: idf(3) * weight(1, 2),
	}
	found := search(t, b, scope, bank.Query{Text: "the zorb zorb of quix"})
	if len(found) != len(entries) {
		t.Fatalf("got %d entries, want %d", len(found), len(entries))
	}
	low, high := scores[found[2].Memory.ID], scores[found[0].Memory.ID]
	got := (found[1].Score - found[2].Score) / (found[0].Score - found[2].Score)
	if want := (scores[found[1].Memory.ID] - low) / (high - low); math.Abs(got-want) > 0.05 {
		t.Errorf("the second of %v lies at %.4f between the others, want %.4f", foundIDs(found), got, want)
	}
}

// testSearchLatest first writes enough other matches for a full result, and then the best match. A store with a wrong
// limit for fresh entries stops too early.
func testSearchLatest(t *testing.T, b bank.Bank) {
	scope := newScope()
	var early []memory.Memory
	for n := range 100 {
		early = append(early, entry(scope, n, content(n)))
	}
	best := entry(scope, 100, "Ana owns an accordion and a bicycle")
	write(t, b, scope, put(early...))
	write(t, b, scope, put(best))
	for name, q := range map[string]bank.Query{
		"text": {Text: "Ana's bicycle and accordion", K: 5},
		"both": {Text: "Ana's bicycle and accordion", Vector: axis(100), Alpha: 0.2, K: 5},
	} {
		if found := search(t, b, scope, q); len(found) != 5 || found[0].Memory.ID != best.ID {
			t.Errorf("%s: got %+v, want the latest entry first of 5", name, found)
		}
	}
}

func testSearchStopWords(t *testing.T, b bank.Bank) {
	scope := newScope()
	near, far := entry(scope, 0, "Ana swims"), entry(scope, 1, "What is it that you are?")
	write(t, b, scope, put(far, near))
	q := bank.Query{Text: "What is it that you are?", Vector: axis(0), Alpha: 0.2}
	wantIDs(t, "with a vector", foundIDs(search(t, b, scope, q)), ids([]memory.Memory{near, far}))
	q.Vector = nil
	wantIDs(t, "without", foundIDs(search(t, b, scope, q)), []string{})
}

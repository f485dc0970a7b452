package reinforcement

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/shared/text"
)

// rules judge a made-up life after a session by its truth. They compare words: an answer with the right value, in any
// inflection, is right.
type rules struct {
	person *person
	holds  map[int]bool
}

var _ reward.Judge = rules{}

func (p *person) rules(session int) rules { return rules{p, p.currentTargets(session)} }

// preference is the part of life with questions that can have a personal answer.
const preference = "preference"

// Response implements reward.Judge (SaliMory, E.1). An answer is right when it tells the right value and bank and
// profile tell it, too. An answer to a question about a preference can be personal, and then is as personal as it is
// right.
func (r rules) Response(_ context.Context, a reward.Answered) (out reward.Response, _ error) {
	if err := a.CheckMarked(); err != nil {
		return out, err
	}
	if lost(a) == reward.StageNone {
		out.Accuracy = 1
	}
	if out.Applicable = r.person.likes[a.Question]; out.Applicable {
		out.Personalization = out.Accuracy
	}
	return out, nil
}

// lost returns the first stage without the right value.
func lost(a reward.Answered) reward.Stage {
	bank := make([]string, len(a.Memory))
	for i, e := range a.Memory {
		bank[i] = e.Text
	}
	return reward.Attribute([]string{a.Golden}, bank, a.Profile, a.Answer, 0.99)
}

// Entries implements reward.Judge (SaliMory, E.2). An entry is not faithful when all its facts hold no more. An entry
// is vague when it has less than half of the keywords of its turns' facts, or its turns tell no fact.
func (r rules) Entries(_ context.Context, bank []reward.BankEntry) (out reward.Entries, _ error) {
	p := r.person
	for _, e := range bank {
		out.All++
		var turns []string
		telling, salient := false, false
		for _, u := range e.From {
			turns = append(turns, u.ID)
			telling, salient = telling || len(p.told[u.ID]) > 0, salient || p.salient[u.ID]
		}
		told := p.tellsOf(e.Text, turns)
		if len(told) == 0 || slices.ContainsFunc(told, func(i int) bool { return r.holds[i] || p.records(i) }) {
			out.Factual++
		}
		isClear := slices.ContainsFunc(told, func(i int) bool {
			return reward.Coverage(p.Targets[i].Keywords, []string{e.Text}) >= leastClear
		})
		if telling && !isClear || !telling && !salient {
			out.Vague++
		}
	}
	return out, nil
}

// leastClear is the least share of a statement's keywords in an entry that is not vague.
const leastClear = 0.5

// Utilization implements reward.Judge (SaliMory, E.3). It is 0 where the profile lacks the value. Otherwise it is at
// least a half, and falls with the other text in the profile.
func (r rules) Utilization(_ context.Context, a reward.Answered) (float64, error) {
	if err := a.CheckMarked(); err != nil {
		return 0, err
	}
	useful := 0
	for _, text := range a.Profile {
		if tells(text, a.Golden) {
			useful++
		}
	}
	if useful == 0 {
		return 0, nil
	}
	return 0.5 + 0.5*(float64(useful)/float64(len(a.Profile))), nil
}

// leastTold is the least share of an entry's words by which an answer tells it. Words of the question and the
// conversation do not count.
const leastTold = 0.5

// Personalization implements reward.Judge (SaliMory, B.3). An answer is personal when it tells an entry: by half of
// the entry's new words, or by the right value. It is
//
//   - bad if it states an ended value, except from an entry that also has the right value ("from tea to coffee");
//   - bad if it has neither the right value nor an entry with a word of the question;
//   - good if it has the right value with more of its entry, and no entry without a word of the question;
//   - basic otherwise.
//
// An answer that is not personal is underuse where an entry tells the right value and the question does not.
func (r rules) Personalization(_ context.Context, a reward.Answered) (reward.Personalization, error) {
	if err := a.CheckAsked(); err != nil {
		return "", err
	}
	before := a.Question
	for _, u := range a.Conversation {
		before += "\n" + u.Text
	}
	asked, answer := text.StemSet(before), text.StemSet(a.Answer)
	known := a.Golden == "" || tells(before, a.Golden)
	right := !known && tells(a.Answer, a.Golden)
	var told toldEntries
	for _, e := range a.Memory {
		told.add(a, e.Text, asked, answer, right)
	}
	switch {
	case !told.any && told.knows && !known:
		return reward.PersonalizationUnderuse, nil
	case !told.any:
		return reward.PersonalizationNone, nil
	case told.outdated, !told.right && !told.relevant:
		return reward.PersonalizationBad, nil
	case told.right && told.more && !told.irrelevant:
		return reward.PersonalizationGood, nil
	}
	return reward.PersonalizationBasic, nil
}

// toldEntries describes the entries of a bank that an answer tells.
type toldEntries struct {
	// knows is true when an entry has the right value, told or not.
	knows bool
	// any is true when the answer tells an entry. right, outdated, relevant and irrelevant are true when it tells an
	// entry of that kind. more is true when it tells the right value with another word of its entry that the question
	// lacks.
	any, right, more, outdated, relevant, irrelevant bool
}

func (t *toldEntries) add(a reward.Answered, entry string, asked, answer map[string]bool, right bool) {
	words := text.StemSet(entry)
	said, common, others := 0, false, 0
	fresh := 0
	golden := text.StemSet(a.Golden)
	for w := range words {
		if asked[w] {
			common = true
			continue
		}
		fresh++
		if answer[w] {
			said++
			if !golden[w] {
				others++
			}
		}
	}
	has := a.Golden != "" && tells(entry, a.Golden)
	t.knows = t.knows || has
	value := right && has
	if !value && (fresh == 0 || float64(said) < leastTold*float64(fresh)) {
		return
	}
	t.any = true
	t.right, t.more = t.right || value, t.more || value && others > 0
	if !has {
		t.relevant, t.irrelevant = t.relevant || common, t.irrelevant || !common
		t.outdated = t.outdated || slices.ContainsFunc(a.Outdated, func(v string) bool {
			return tells(entry, v) && tells(a.Answer, v)
		})
	}
}

package training

import (
	"context"
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Statements returns the statements of a split. Pairs come twice: with the stored statement alone, as in a new bank,
// and among strangers of its batch. The banks' statements follow. Last come users' statements to an assistant, each
// with earlier statements of the same dialogue that it does not change.
func Statements(ctx context.Context, s corpus.Split, o RelationOptions) ([]corpus.Among, error) {
	pairs, err := corpus.Pairs()
	if err != nil {
		return nil, err
	}
	banks, err := corpus.Banks(s)
	if err != nil {
		return nil, err
	}
	dialogues, err := corpus.Dialogues()
	if err != nil {
		return nil, err
	}
	dialogues = slices.DeleteFunc(slices.Clone(dialogues), func(d corpus.Dialogue) bool { return d.Split() != s })
	pairs, banks, dialogues = atMost(corpus.Of(pairs, s), o.Most), atMost(banks, o.Most), atMost(dialogues, o.Most)
	out := slices.Concat(corpus.AmongStrangers(pairs, 0, o.Seed), corpus.AmongStrangers(pairs, o.Strangers, o.Seed),
		corpus.InBanks(banks))
	q := quoter{embedded.NewFormerWith(embedded.IdentityOf("salimory"), nil, 1, 1)}
	lives := o.Lives
	if s != corpus.Train {
		lives = 0 // temperature and thresholds are for people's statements
	} else if o.Most > 0 {
		lives = min(lives, o.Most)
	}
	made, err := q.lives(ctx, o.Seed, lives, o.Strangers)
	if err != nil {
		return nil, err
	}
	out = append(out, made...)
	for _, d := range dialogues {
		var turns []memory.Turn
		for _, l := range d.Labelled() {
			turns = append(turns, l.Turn)
		}
		said, err := q.former.Extract(ctx, formation.Session{Scope: memory.Scope{Tenant: "corpus", User: d.ID}, ID: d.ID,
			Turns: turns})
		if err != nil {
			return nil, fmt.Errorf("dialogue %s: %w", d.ID, err)
		}
		out = append(out, changingNothing(said, d.Batch, o.Strangers)...)
	}
	return out, nil
}

// atMost returns the first entries of a list. 0 is no bound.
func atMost[T any](list []T, most int) []T {
	if most <= 0 {
		return list
	}
	return list[:min(most, len(list))]
}

// changingNothing compares each statement with at most `most` earlier statements.
func changingNothing(said []formation.Candidate, batch string, most int) []corpus.Among {
	var out []corpus.Among
	var messages []string
	for _, turn := range byTurn(said) {
		for i := range turn {
			messages = append(messages, embedded.Message(turn, i))
		}
	}
	for i, c := range said {
		a := corpus.Among{Later: asUser(c), Looks: -1, Batch: batch, Kind: "dialogue"}
		a.Later.Text = messages[i]
		for _, before := range said[:i] {
			if before.Sources[0] != c.Sources[0] && before.Speaker == c.Speaker && len(a.Stored) < most {
				a.Stored = append(a.Stored, asUser(before))
			}
		}
		if len(a.Stored) > 0 {
			out = append(out, a)
		}
	}
	return out
}

func asUser(c formation.Candidate) relation.Statement {
	return relation.Statement{Text: c.Content, Role: memory.RoleUser, Speaker: corpus.ByUser}
}

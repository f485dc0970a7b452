package utilizer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// guest is a user of a group.
var guest = memory.Scope{Tenant: "acme", User: "guest"}

// heard fills a bank with one memory per turn, an hour apart. A turn is "speaker: text".
func heard(t *testing.T, r *utilizer.Recaller, turns ...string) {
	t.Helper()
	var w memory.Write
	for i, said := range turns {
		speaker, content, _ := strings.Cut(said, ": ")
		vectors, err := builtin.New().Embed(t.Context(), []string{content})
		if err != nil {
			t.Fatal(err)
		}
		id, at := fmt.Sprint("heard", i), now.Add(time.Duration(i)*time.Hour)
		w.Turns = append(w.Turns, memory.Turn{ID: id, SessionID: "s1", Speaker: speaker, Role: memory.RoleUser, Text: content,
			Time: at})
		w.Put = append(w.Put, memory.Memory{
			ID: memory.DeriveID(guest, []string{id}, 0), Kind: memory.KindFact, Content: content, Speaker: speaker,
			SessionID: "s1",
			Status:    memory.StatusActive, Version: 1, RecordedAt: at, ValidFrom: at, Sources: []string{id}, Vector: vectors[0],
		})
	}
	if err := r.Bank.Write(t.Context(), guest, w); err != nil {
		t.Fatal(err)
	}
}

// TestAQuestionAboutTheUserIsAnsweredWithTheUsersWords has other speakers and relatives with other homes.
func TestAQuestionAboutTheUserIsAnsweredWithTheUsersWords(t *testing.T) {
	group := []string{
		"user: I live in Graz.", "Mallory: I live in Oslo.", "Mallory: I love to live by the sea, and live in Oslo for it.",
		"user: I have a dog.", "Bea: I live in Bern now.",
	}
	named := []string{"Ana: I live in Graz.", "Ana: I have a dog.", "Ana: I like tea.", "Mallory: I live in Oslo.",
		"Mallory: I like rain."}
	relatives := []string{"user: I live in Graz.", "user: My brother Tom is an architect.", "user: He now lives in Rome.",
		"user: My sister lives in Lyon."}
	german := []string{"user: Ich wohne in Graz.", "user: Mein Bruder Tom ist Architekt.", "user: Er wohnt jetzt in Rom.",
		"Mallory: Ich wohne in Oslo."}
	moved := []string{
		"user: I live in Lisbon.", "user: My brother moved to Oslo.", "user: He now lives in Oslo.",
		"user: Mum: I moved to Oslo.",
		"user: My therapist now lives in Oslo.", "user: @mallory: I live in Oslo.",
	}
	var nameless []string
	for _, said := range moved {
		nameless = append(nameless, strings.TrimPrefix(said, "user"))
	}
	spanish := []string{"user: Vivo en Lisboa.", "user: Él ahora vive en Oslo.", "user: Mi ex vive en Oslo."}
	for _, tc := range []struct {
		turns []string
		query string
		want  string
	}{
		{moved, "Where does the user live?", "I live in Lisbon."}, {moved, "Where do I live?", "I live in Lisbon."},
		{nameless, "Where does the user live?", "I live in Lisbon."}, {nameless, "Where do I live now?", "I live in Lisbon."},
		{spanish, "¿Dónde vive el usuario?", "Vivo en Lisboa."}, {spanish, "¿Dónde vivo?", "Vivo en Lisboa."},
		{group, "Where does the user live?", "I live in Graz."}, {group, "Where do I live?", "I live in Graz."},
		{group, "Where does Mallory live?", "in Oslo"}, {named, "Where does the user live?", "I live in Graz."},
		{relatives, "Where does the user live?", "I live in Graz."}, {relatives, "Where do I live?", "I live in Graz."},
		{relatives, "Where does the user's sister live?", "My sister lives in Lyon."},
		{german, "Wo wohnt der Nutzer?", "Ich wohne in Graz."},
	} {
		r := newRecaller(t)
		heard(t, r, tc.turns...)
		got, err := r.Recall(t.Context(), acme, utilizer.Request{User: guest.User, Query: tc.query, Candidates: 20,
			Memories:   10,
			WordBudget: 250})
		if err != nil {
			t.Fatal(err)
		}
		_, g, err := r.Policies(tenant.PolicyEmbedded)
		if err != nil {
			t.Fatal(err)
		}
		a, err := g.Answer(t.Context(), guest, got.Evidence, got.Profile)
		if err != nil || !strings.Contains(a.Text, tc.want) {
			t.Errorf("%s of %q: got %q, %v", tc.query, tc.turns, a.Text, err)
		}
		for _, other := range []string{"Oslo", "Bern", "Rom", "Lyon"} {
			if strings.Contains(a.Text, other) && !strings.Contains(tc.query, "Mallory") && !strings.Contains(tc.want, other) {
				t.Errorf("%s of %q: got %q", tc.query, tc.turns, a.Text)
			}
		}
	}
}

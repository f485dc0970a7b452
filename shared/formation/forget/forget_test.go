package forget_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/forget"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestRequestsToForgetAreRead(t *testing.T) {
	for said, want := range map[string][2]string{ // the object, and the rest
		"Forget what I said about my salary.":                        {"salary", ""},
		"Please forget everything I told you about my divorce.":      {"divorce", ""},
		"Could you please forget my landlord's name?":                {"landlord's name", ""},
		"I'd like you to forget my shoe size.":                       {"shoe size", ""},
		"Forget that I live in Lyon.":                                {"live in lyon", ""},
		"Forget that I don't eat meat.":                              {"eat meat", ""},
		"Delete my address.":                                         {"address", ""},
		"Erase my blood type from your memory, please.":              {"blood type", ""},
		"Please don't remember my address.":                          {"address", ""},
		"Stop remembering my weight.":                                {"weight", ""},
		"I moved to Jena last week, please forget my old address.":   {"old address", "I moved to Jena last week"},
		"I like tea. Can you forget my phone number please? Thanks!": {"phone number", "I like tea.  Thanks"},
		"Olvida mi número de pasaporte.":                             {"número de pasaporte", ""},
		"¿Puedes borrar lo que te dije sobre mi sueldo?":             {"sueldo", ""},
		"Vergiss bitte meine Adresse.":                               {"adresse", ""},
		"Vergiss, was ich über mein Gehalt gesagt habe.":             {"gehalt", ""},
		"Kannst du meine Telefonnummer vergessen?":                   {"telefonnummer", ""},
		"Merk dir meine Adresse nicht.":                              {"adresse", ""},
		"Oublie ce que j'ai dit sur ma santé.":                       {"santé", ""},
		"Esquece o meu endereço.":                                    {"endereço", ""},
		"Dimentica il mio indirizzo.":                                {"indirizzo", ""},
		"Vergeet mijn adres alsjeblieft.":                            {"adres", ""},
	} {
		rest, got := forget.Read(memory.Turn{Role: memory.RoleUser, Speaker: "Ana", Text: said})
		if len(got) != 1 || got[0].Object != want[0] || rest != want[1] {
			t.Errorf("%s: got %+v, rest %q, want %q", said, got, rest, want)
		}
	}
}

func TestOtherWordsAreNoRequestToForget(t *testing.T) {
	for _, said := range []string{
		"Don't forget my birthday.", "I always forget my keys.", "You forget my name every time.",
		"I could never forget my grandmother.",
		"Forget it.", "Forget the milk, we have some.", "Forget about the hotel.", "I want to forget my ex.",
		"How do I delete my account?",
		"Remove my name from the mailing list.", "Remember my birthday.", "Please remember that I am vegan.",
		"Please remember that I no longer eat meat.", "Remember that I don't like my boss.", "Could I delete my address?",
		"Let's forget my first idea.", "I forgot my umbrella.", "Delete the second paragraph.",
		"My son keeps forgetting my number.",
		"No olvides mi cumpleaños.", "Vergiss meinen Geburtstag nicht.", "N'oublie pas mon anniversaire.",
		"Ich vergesse meine Schlüssel oft.",
		"Keep my receipts in the drawer.", "I don't keep my receipts.", "My mail says: \"Forget my address.\"",
		"Ben: forget my address", "> Delete my address.",
	} {
		if rest, got := forget.Read(memory.Turn{Role: memory.RoleUser, Speaker: "Ana", Text: said}); len(got) > 0 ||
			rest != said {
			t.Errorf("%s: got %+v, rest %q", said, got, rest)
		}
	}
	if _, got := forget.Read(memory.Turn{Role: memory.RoleAssistant, Text: "Forget my address."}); len(got) > 0 {
		t.Errorf("an assistant's words: %+v", got)
	}
}

func TestARequestNamesOneSubject(t *testing.T) {
	entry := func(id, content string) memory.Memory {
		return memory.Memory{ID: id, Content: content, Status: memory.StatusActive, Sources: []string{id}}
	}
	talk := entry("t", "The address is hard to spell, my address has an umlaut.")
	talk.Tier, talk.Sources = memory.TierTalk, []string{"a"}
	closed := entry("c", "My address is Ring 1.")
	closed.Status = memory.StatusSuperseded
	for name, c := range map[string]struct {
		object string
		known  []memory.Memory
		want   string
	}{
		"one memory": {"depression", []memory.Memory{entry("a", "I was treated for depression in 2019."),
			entry("b", "I like rye bread.")}, "a"},
		"the memory that states it": {"address", []memory.Memory{entry("a", "My address is Lindenweg 4."),
			entry("b", "My email address is a@b.c.")}, "a"},
		"with talk of its turn": {"address", []memory.Memory{entry("a", "My address is Lindenweg 4."), talk}, "at"},
		"two subjects": {"sister", []memory.Memory{entry("a", "My sister lives in Rome."),
			entry("b", "I met my sister in May.")}, ""},
		"another subject":          {"salary", []memory.Memory{entry("a", "My address is Lindenweg 4.")}, ""},
		"a part of the words":      {"phone number", []memory.Memory{entry("a", "My passport number is X1.")}, ""},
		"a closed memory":          {"address", []memory.Memory{closed}, ""},
		"another form of the word": {"allergies", []memory.Memory{entry("a", "I have an allergy to peanuts.")}, "a"},
		"Spanish": {"número de pasaporte",
			[]memory.Memory{entry("a", "Mi número de pasaporte es X1234567.")}, "a"},
	} {
		got := ""
		for _, m := range (forget.Request{Object: c.object}).Find(c.known) {
			got += m.ID
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

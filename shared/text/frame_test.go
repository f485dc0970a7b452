package text_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestFrames(t *testing.T) {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for said, want := range map[string]struct{ others, leads string }{
		"Dictation practice. I swim. I run.\n\nI live in Graz.": {"I swim. I run.", "Dictation practice."},
		"My friend Jo texted me: I moved. \nI live in Graz.":    {"I moved.", "My friend Jo texted me:"},
		"For my novel: I am a spy.\nI live in Graz.":            {"", ""},
		"Here's what Tom posted. By 2020 I had moved to Oslo.":  {"By 2020 I had moved to Oslo.", "Here's what Tom posted."},
		"Dictation practice. Ok, I no longer eat nuts.":         {"Ok, I no longer eat nuts.", "Dictation practice."},
		"Dictation practice. I swim. Anyway, I live in Graz.":   {"I swim.", "Dictation practice."},
		"I moved to Oslo, says Tom. I did not.":                 {"I moved to Oslo", ", says Tom."},
		"I am not allergic to nuts, says the patient.":          {"I am not allergic to nuts", ", says the patient."},
		"I need no warnings about links, says my bank.":         {"I need no warnings about links", ", says my bank."},
		"I eat too much sugar, says my old family doctor.":      {"", ""},
		"I must avoid salt, says the doctor.":                   {"", ""},
		"Ich soll kein Salz essen, sagt der Arzt.":              {"", ""},
		"My doctor wrote: no more sugar. I obey.":               {": no more sugar. I obey.", "My doctor wrote"},
		"Proofread this please. I live in Oslo.":                {"I live in Oslo.", "Proofread this please."},
		"I'm stubborn, as my mum says.":                         {"", ""},
		"This is my story. I was born in Graz.":                 {"", ""},
	} {
		_, others := text.Voices(said, "")
		if leads := text.Leads(said, ""); squeeze(others) != want.others || squeeze(leads) != want.leads {
			t.Errorf("%q: others %q, leads %q", said, others, leads)
		}
	}
	for said, want := range map[string]bool{
		"Tom wrote this on his wall:":   true,
		"Here's what Tom posted today:": true,
		"Dictation practice.":           true,
		"Can you translate this?":       true,
		"我朋友小李发消息说：":                    true,
		"Dictation practice. I swim.":   false, "Here's the thing.": false, "我的信用卡：": false,
		"我朋友小李的原话：":            true,
		"Give me a monologue.": false, "Back from practice.": false, "Can I translate this?": false,
		"I live in Graz.": false, "I have a dictation tomorrow.": false,
	} {
		if got := text.FramesNext(said, ""); got != want {
			t.Errorf("%q frames the next text: %t", said, got)
		}
	}
}

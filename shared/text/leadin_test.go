package text_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

// TestALeadInOfAnotherMakesAStatementUnsure has lead-ins that name a source or another speaker, and lead-ins of the
// speaker.
func TestALeadInOfAnotherMakesAStatementUnsure(t *testing.T) {
	const said = "I don't live in Leeds any more, I live in Hull now."
	others := []string{
		"Comment under the video: ", "From the group chat: ", "Kofi's status: ", "kofi - ", "Kofi => ",
		"*Kofi* ", "Kofi (10:31) ", "Kofi, this morning: ", "Overheard at the bus stop: ",
		"Witness statement, page 4: ", "Sample sentence: ", "Example: ", "Karaoke text: ",
		"Is this grammatical? ", "How do you say in Dutch: ", "Note on the fridge: ",
		"Here's the post I found: ", "voicemail transcript, 0:42 - ", "Letter to the editor, by K. Mensah: ",
		"Dear colleagues,\n\nfrom January on all is new. ", "FW: farewell\n\nHello all,\n\n",
		"A letter from my pen pal arrived!\n\nDearest friend,\n",
		"Hola a todos,\n\nya no estoy. \n\nLiebe Kollegen,\n",
	}
	for _, lead := range others {
		own, _ := text.Voices(lead+said, "")
		if own != "" && text.Sure(lead+said, "") != "" && text.Unsure(lead+said, "") == "" {
			t.Errorf("%q: all is sure", lead)
		}
	}
	for _, lead := range []string{
		"Update: ", "A thing of importance: ", "Decision: ", "For the record: ", "Here is what matters: ",
		"i: ", "I: ", "Okay, so: ", "Big news: ", "Just so you know: ", "About me: ", "To be clear: ",
		"My answer: ", "New address: ", "I keep telling everyone: ", "You asked where I live: ",
		"Life update, November: ", "- ", "Hi there,\n\n", "", "Can you help me? ", "Severe allergies: ",
		"As I told Kofi: ", "After my divorce: ", "My new phone number: ", "I have three cats: ",
		"Good news - ",
	} {
		if unsure := text.Unsure(lead+said, ""); unsure != "" {
			t.Errorf("%q: %q is unsure", lead, unsure)
		}
	}
}

package corpus

import (
	"embed"
	"sync"
)

//go:embed preferences/*.jsonl
var preferenceFiles embed.FS

// Preferences returns further dialogues of a user with an assistant, in the order of files and lines. They were written for what later
// requests have to respect: preferences, habits, limits. Turns that no request needs may be worth remembering all the same.
var Preferences = sync.OnceValues(func() ([]Dialogue, error) {
	return eachFile(preferenceFiles, "preferences", ReadDialogues)
})

package corpus

import (
	"embed"
	"sync"
)

//go:embed preferences/*.jsonl
var preferenceFiles embed.FS

// Preferences returns further dialogues of a user with an assistant, in the order of files and lines. They were
// written for facts that later requests must respect: preferences, habits, limits. A turn that no request needs may
// still be worth remembering.
var Preferences = sync.OnceValues(func() ([]Dialogue, error) {
	return eachFile(preferenceFiles, "preferences", ReadDialogues)
})

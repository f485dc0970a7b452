package decision

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"
)

//go:embed shipped/*.json
var shipped embed.FS

// Shipped returns the trained policies of the program, by version. For each policy, lab/docs/training.md gives its
// training data, its gains and its costs. All callers share the policies and must not change them.
var Shipped = sync.OnceValue(func() map[string]*Policy {
	out := map[string]*Policy{}
	files, err := fs.Glob(shipped, "shipped/*.json")
	for _, file := range files {
		var data []byte
		if data, err = shipped.ReadFile(file); err != nil {
			break
		}
		p, broken := Decode(data)
		if err = broken; err != nil {
			break
		}
		out[p.Version] = p
	}
	if err != nil {
		panic(fmt.Sprintf("a shipped policy: %v", err))
	}
	return out
})

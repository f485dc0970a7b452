package decision

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"
)

//go:embed shipped/*.json
var shipped embed.FS

// Shipped returns, by version, the trained policies that the program comes with; lab/docs/training.md says of each what it was trained on, and
// what it gains and costs. They are shared: nobody changes them.
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

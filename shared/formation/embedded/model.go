package embedded

import (
	_ "embed"

	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
)

//go:embed changes.json
var changesModel []byte

// builtinModel reads the model that is part of the program.
func builtinModel() *link.Model {
	m, err := link.Parse(changesModel, Features())
	if err != nil {
		panic(err) // a test holds the file against Features
	}
	return m
}

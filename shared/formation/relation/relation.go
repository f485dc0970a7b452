// Package relation says what a new statement does to one that is stored: a placeholder of the model's face.
package relation

import (
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

type Statement struct {
	Text    string
	Role    memory.Role
	Speaker string
	Time    time.Time
}

type Relation struct{ Unrelated, Same, Adds, Replaces, Ends float64 }

func (r Relation) Change() float64 { return r.Replaces + r.Ends }

type Model struct{ Certain, Possible float64 }

func Shipped() *Model { return &Model{0.6, 0.3} }

func (m *Model) Judge(later, stored Statement) Relation { return Relation{Unrelated: 1} }

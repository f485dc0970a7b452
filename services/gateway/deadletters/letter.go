package deadletters

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Letter is a dead letter without its content.
type Letter struct {
	ID string
	// Reason describes the error. Field is the field at fault, empty if the whole record is at fault.
	Reason, Field string
	// Handler gave up on the record, which came from Topic.
	Handler, Topic string
	// User is the user of the record. It is empty if the user is unknown.
	User string
	// Time is when the handler gave up.
	Time time.Time
	// TurnID is the turn of the record. It is empty if the record has no turn, or if the turn is unknown.
	TurnID string
}

// owned is a letter with a known owner.
type owned struct {
	dead *mnemev1.DeadLetter
	// scope has no user if the record and its key name different users, or none.
	scope memory.Scope
}

// ownedOf decodes a record of the dead letters' topic.
func ownedOf(m bus.Message) (owned, bool) {
	dead := bus.Replayable(m)
	if dead == nil {
		return owned{}, false
	}
	return owner(m.Key, dead)
}

// owner finds the owner of a letter from the record and from its key, "tenant/user". Either may be the faulty part.
// If they name different tenants, the letter has no owner.
func owner(key []byte, dead *mnemev1.DeadLetter) (owned, bool) {
	o := owned{dead: dead, scope: contract.OwnerOf(dead.GetValue())}
	sameUser := true
	for _, k := range [][]byte{dead.GetKey(), key} {
		tenant, user, ok := strings.Cut(string(k), "/")
		if !ok {
			continue
		}
		o.scope.Tenant, o.scope.User = cmp.Or(o.scope.Tenant, tenant), cmp.Or(o.scope.User, user)
		if o.scope.Tenant != tenant {
			return owned{}, false
		}
		sameUser = sameUser && o.scope.User == user
	}
	if !sameUser {
		o.scope.User = ""
	}
	return o, o.scope.Tenant != ""
}

// belongsTo reports whether a letter is for the eyes of a principal.
func (o owned) belongsTo(p access.Principal) bool {
	return o.scope.Tenant == p.Tenant.ID && (p.User == "" || o.scope.User == p.User)
}

// Numbers of the fields that lead to a turn's id.
const (
	eventTurn, eventDropped protowire.Number = 10, 11
	salientTurn             protowire.Number = 1
	turnID                  protowire.Number = 1
)

// turn is the id of the turn that the record is about, as far as it can be read.
func (o owned) turn() string {
	value := o.dead.GetValue()
	switch o.dead.GetTopic() {
	case contract.TopicSessionEvents:
		return string(inner(value, eventTurn, turnID))
	case contract.TopicSalientTurns:
		if id := inner(value, eventTurn, salientTurn, turnID); len(id) > 0 {
			return string(id)
		}
		return string(inner(value, eventDropped, turnID))
	}
	return ""
}

// inner returns the bytes at a path of fields of an encoded message. It reads records, too, that are refused for
// something else.
func inner(value []byte, path ...protowire.Number) []byte {
	for _, want := range path {
		var found []byte
		for len(value) > 0 {
			num, typ, n := protowire.ConsumeTag(value)
			if n < 0 {
				break
			}
			size := protowire.ConsumeFieldValue(num, typ, value[n:])
			if size < 0 {
				break
			}
			if num == want && typ == protowire.BytesType {
				found, _ = protowire.ConsumeBytes(value[n:])
			}
			value = value[n+size:]
		}
		value = found
	}
	return value
}

func letterOf(o owned) Letter {
	return Letter{
		ID: shown(o.dead.GetId()), Reason: shown(o.dead.GetReason()), Field: shown(o.dead.GetField()),
		Handler: shown(o.dead.GetHandler()), Topic: shown(o.dead.GetTopic()), User: shown(o.scope.User),
		Time: o.dead.GetTime().AsTime(), TurnID: shown(o.turn()),
	}
}

// shown is a text as it is shown: valid, and without control characters.
func shown(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
}

// newest collects the first letters after a place.
type newest struct {
	after   order // the zero one is the beginning
	most    int
	letters []Letter
}

// add takes a letter in. One that is there several times, as after an interrupted replay, counts once.
func (n *newest) add(l Letter) {
	at := placeOf(l)
	if n.after != (order{}) && compare(at, n.after) <= 0 {
		return
	}
	i, there := slices.BinarySearchFunc(n.letters, at, func(l Letter, at order) int { return compare(placeOf(l), at) })
	if there || i == n.most {
		return
	}
	n.letters = slices.Insert(n.letters, i, l)
	if len(n.letters) > n.most {
		n.letters = n.letters[:n.most]
	}
}

func compare(a, b order) int { return cmp.Or(b.time.Compare(a.time), cmp.Compare(a.id, b.id)) }

// parsePlace reads a cursor.
func parsePlace(cursor string) (order, error) {
	ns, id, ok := strings.Cut(cursor, "-")
	at, err := strconv.ParseInt(ns, 10, 64)
	if !ok || err != nil || id == "" {
		return order{}, problem.Invalid("cursor", "is not from an earlier answer")
	}
	return order{time.Unix(0, at).UTC(), id}, nil
}

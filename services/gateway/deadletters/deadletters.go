// Package deadletters shows tenants their dead letters and replays them. A dead letter is a record that could not
// be processed. The shown data has no text of users.
//
// A letter waits until its replay or its erasure. From then on, the offset of the replay's group
// (contract.GroupReplay) is past it. Only waiting letters are shown.
package deadletters

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
)

// MaxLimit is how many letters List returns at most.
const MaxLimit = 200

// Defaults of Parts.
const (
	// DefaultFresh is the default age limit of cached waiting letters in a lookup by turn.
	DefaultFresh = time.Second
	// DefaultPatience is how long a replay waits for others that work on the dead letters.
	DefaultPatience = 30 * time.Second
)

// idle and maxIdle are the pauses between attempts to get hold of the letter's partition.
const (
	idle    = 200 * time.Millisecond
	maxIdle = 3 * time.Second
)

// Offsets says how far the group of the replay is; *kafka.Offsets does.
type Offsets interface {
	// Committed returns the offset of the next record by partition. It leaves out partitions without a finished
	// record.
	Committed(ctx context.Context) (map[int]int64, error)
}

// Parts are the dependencies of Letters. All but Fresh, Patience and Now are needed.
type Parts struct {
	// Log is the dead letters' topic.
	Log bus.Log
	// Offsets are the offsets of the replay's group.
	Offsets Offsets
	// Join makes a membership in that group.
	Join func() (bus.Source, error)
	// Out publishes without adding a trace.
	Out         bus.Publisher
	Instruments *bus.Instruments
	// Fresh is the maximum age of Find's answer. 0 means DefaultFresh.
	Fresh time.Duration
	// Patience bounds a replay. 0 means DefaultPatience.
	Patience time.Duration
	// Now is the clock for Fresh. nil means time.Now.
	Now func() time.Time
}

// Letters are the dead letters of the caller. These are the letters of the tenant in the context's principal. A key
// for one user has only that user's letters. It is safe for concurrent use. problem.From turns its errors into
// answers.
type Letters struct {
	p     Parts
	index *index
	// turn is held while this process replays: members of one group would only get into each other's way.
	turn chan struct{}
}

// New returns the letters. It closes none of its parts.
func New(p Parts) *Letters {
	if p.Fresh <= 0 {
		p.Fresh = DefaultFresh
	}
	if p.Patience <= 0 {
		p.Patience = DefaultPatience
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	return &Letters{p: p, index: newIndex(p), turn: make(chan struct{}, 1)}
}

// List returns up to limit waiting letters, the newest first, and the next cursor. An empty cursor is the
// beginning, an empty next the end. A letter may be there several times, for example when several turns had the
// same id. List returns the newest of these only. It reads the waiting letters of all tenants twice. It needs
// access.Admin.
func (l *Letters) List(ctx context.Context, limit int, cursor string) (letters []Letter, next string, err error) {
	p, err := admin(ctx)
	if err != nil {
		return nil, "", err
	}
	if limit < 1 || limit > MaxLimit {
		return nil, "", problem.Invalid("limit", fmt.Sprintf("is %d, want 1 to %d", limit, MaxLimit))
	}
	found := newest{most: limit + 1} // one more says whether there are others
	if cursor != "" {
		if found.after, err = parsePlace(cursor); err != nil {
			return nil, "", err
		}
	}
	last := map[string]time.Time{} // by id
	err = l.scan(ctx, func(_ bus.Message, o owned) {
		if at := o.dead.GetTime().AsTime(); o.belongsTo(p) && !at.Before(last[o.dead.GetId()]) {
			last[o.dead.GetId()] = at
		}
	})
	if err == nil {
		err = l.scan(ctx, func(_ bus.Message, o owned) {
			if o.belongsTo(p) && !o.dead.GetTime().AsTime().Before(last[o.dead.GetId()]) {
				found.add(letterOf(o))
			}
		})
	}
	if err != nil {
		return nil, "", fmt.Errorf("list dead letters: %w", err)
	}
	if len(found.letters) <= limit {
		return found.letters, "", nil
	}
	return found.letters[:limit], placeOf(found.letters[limit-1]).String(), nil
}

// Find returns the waiting letter of a user's turn, the newest if there are several. ok is false if there is no
// such letter. The answer may be Parts.Fresh old. It needs access.Read.
func (l *Letters) Find(ctx context.Context, user, turnID string) (letter Letter, ok bool, err error) {
	if err := backend.Check(ctx, access.Read, user); err != nil {
		return Letter{}, false, err
	}
	p, _ := access.FromContext(ctx) // checked
	scope := memory.Scope{Tenant: p.Tenant.ID, User: user}
	at, ok, err := l.index.find(ctx, scope, turnID)
	if err != nil || !ok {
		return Letter{}, false, wrap("find the dead letter of a turn", err)
	}
	msgs, _, err := l.p.Log.Read(ctx, at.partition, at.offset)
	if err != nil {
		return Letter{}, false, fmt.Errorf("read the dead letter of a turn: %w", err)
	}
	if len(msgs) == 0 || msgs[0].Offset != at.offset { // erased in between
		return Letter{}, false, nil
	}
	o, ok := ownedOf(msgs[0])
	if !ok || o.scope != scope || o.turn() != turnID {
		return Letter{}, false, nil
	}
	return letterOf(o), true, nil
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Replay puts the record of a letter back on its original topic. Older waiting letters of the same partition are
// written again, so the time is in proportion to their number. It needs access.Admin.
func (l *Letters) Replay(ctx context.Context, id string) error {
	p, err := admin(ctx)
	if err != nil {
		return err
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, l.p.Patience)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return busy(whole)
	}
	for pause := idle; ; pause = min(2*pause, maxIdle) {
		at, ok, err := l.locate(ctx, p, id)
		if err == nil && !ok {
			return connect.NewError(connect.CodeNotFound, errors.New("no waiting dead letter has this id"))
		}
		if err == nil {
			var done bool
			done, err = l.replay(ctx, p, id, at)
			l.index.expire()
			if done {
				return err
			}
		}
		if ctx.Err() != nil {
			return errors.Join(busy(whole), err)
		}
		if err != nil && !errors.Is(err, bus.ErrHeld) && !errors.Is(err, bus.ErrRevoked) {
			return fmt.Errorf("replay dead letter: %w", err)
		}
		bus.Pause(ctx, time.Duration((0.5+rand.Float64())*float64(pause))) // others get out of step
	}
}

// busy is the error of a replay that ran out of time.
func busy(whole context.Context) error {
	if err := whole.Err(); err != nil {
		return err
	}
	return problem.Unavailable("another call works on the dead letters, try again", maxIdle)
}

// locate returns the place of the principal's waiting letter. It is the last place if there are several.
func (l *Letters) locate(ctx context.Context, p access.Principal, id string) (at place, ok bool, err error) {
	err = l.scan(ctx, func(m bus.Message, o owned) {
		if o.dead.GetId() == id && o.belongsTo(p) {
			at, ok = place{m.Partition, m.Offset}, true
		}
	})
	return at, ok, err
}

// replay tries once; done is false where the letter is to be looked for again.
func (l *Letters) replay(ctx context.Context, p access.Principal, id string, at place) (done bool, err error) {
	source, err := l.p.Join()
	if err != nil {
		return false, err
	}
	result, err := bus.ReplayOne(ctx, bus.OneLetter{
		Partition: at.partition, Offset: at.offset,
		Match: func(key []byte, dead *mnemev1.DeadLetter) bool {
			o, ok := owner(key, dead)
			return ok && dead.GetId() == id && o.belongsTo(p)
		},
	}, source, l.p.Out, l.p.Instruments)
	switch {
	case result.Replayed > 0:
		return true, nil // whatever came after: the record is on its way
	case err != nil:
		return false, err
	case result.Refused > 0:
		return true, problem.Problem{
			Status: http.StatusConflict, Code: problem.CodeLetterRefused, Detail: "the origin topic of the record refuses it",
		}
	}
	return false, nil
}

// scan calls see for every waiting letter with a known owner.
func (l *Letters) scan(ctx context.Context, see func(bus.Message, owned)) error {
	committed, err := l.p.Offsets.Committed(ctx)
	if err != nil {
		return err
	}
	return bus.ScanLogFrom(ctx, l.p.Log, committed, func(m bus.Message) {
		if o, ok := ownedOf(m); ok {
			see(m, o)
		}
	})
}

// admin returns the caller, who may manage the tenant. A key for one user manages that user's part.
func admin(ctx context.Context) (access.Principal, error) {
	p, _ := access.FromContext(ctx) // Check says where there is none
	return p, backend.Check(ctx, access.Admin, p.User)
}

// place is where a record is.
type place struct {
	partition int
	offset    int64
}

// order is a place in the order of letters: the newest first, and by id for the same time.
type order struct {
	time time.Time
	id   string
}

func placeOf(l Letter) order { return order{l.Time, l.ID} }

// String is the place as a cursor.
func (o order) String() string { return strconv.FormatInt(o.time.UnixNano(), 10) + "-" + o.id }

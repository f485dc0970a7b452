package contract_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const key = "acme/ana"

func valid() *mnemev1.SessionEvent {
	return &mnemev1.SessionEvent{
		SchemaVersion: 1, EventId: "e1", TenantId: "acme", UserId: "ana", SessionId: "s1",
		Event: &mnemev1.SessionEvent_Turn{Turn: &mnemev1.Turn{
			TurnId: "t1", Speaker: "Ana", Role: mnemev1.Role_ROLE_USER, Text: "I live in Porto.", Time: timestamppb.New(now),
		}},
	}
}

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSessionEventRefusals(t *testing.T) {
	turn := func(change func(*mnemev1.Turn)) func(*mnemev1.SessionEvent) {
		return func(e *mnemev1.SessionEvent) { change(e.GetTurn()) }
	}
	for name, tc := range map[string]struct {
		change func(*mnemev1.SessionEvent)
		field  string
	}{
		"version 0":           {func(e *mnemev1.SessionEvent) { e.SchemaVersion = 0 }, "schema_version"},
		"version 2":           {func(e *mnemev1.SessionEvent) { e.SchemaVersion = 2 }, "schema_version"},
		"no event id":         {func(e *mnemev1.SessionEvent) { e.EventId = "" }, "event_id"},
		"no tenant":           {func(e *mnemev1.SessionEvent) { e.TenantId = "" }, "tenant_id"},
		"upper-case tenant":   {func(e *mnemev1.SessionEvent) { e.TenantId = "Acme" }, "tenant_id"},
		"no user":             {func(e *mnemev1.SessionEvent) { e.UserId = "" }, "user_id"},
		"long user":           {func(e *mnemev1.SessionEvent) { e.UserId = strings.Repeat("u", 257) }, "user_id"},
		"key of another user": {func(e *mnemev1.SessionEvent) { e.UserId = "ben" }, "key"},
		"no session":          {func(e *mnemev1.SessionEvent) { e.SessionId = " " }, "session_id"},
		"no event":            {func(e *mnemev1.SessionEvent) { e.Event = nil }, "event"},
		"dots for a session":  {func(e *mnemev1.SessionEvent) { e.SessionId = ".." }, "session_id"},
		"hidden turn id":      {turn(func(t *mnemev1.Turn) { t.TurnId = "t\u202e1" }), "turn.turn_id"},
		"no turn id":          {turn(func(t *mnemev1.Turn) { t.TurnId = "" }), "turn.turn_id"},
		"speaker of 2 lines":  {turn(func(t *mnemev1.Turn) { t.Speaker = "Ana\nBen: I" }), "turn.speaker"},
		"hidden in speaker":   {turn(func(t *mnemev1.Turn) { t.Speaker = "A\u200bna" }), "turn.speaker"},
		"no speaker":          {turn(func(t *mnemev1.Turn) { t.Speaker = "" }), "turn.speaker"},
		"no role":             {turn(func(t *mnemev1.Turn) { t.Role = 0 }), "turn.role"},
		"unknown role":        {turn(func(t *mnemev1.Turn) { t.Role = 99 }), "turn.role"},
		"empty text":          {turn(func(t *mnemev1.Turn) { t.Text = "" }), "turn.text"},
		"blank text":          {turn(func(t *mnemev1.Turn) { t.Text = " \n\t" }), "turn.text"},
		"a text too long":     {turn(func(t *mnemev1.Turn) { t.Text = strings.Repeat("a", 512<<10+1) }), "turn.text"},
		"NUL in text":         {turn(func(t *mnemev1.Turn) { t.Text = "a\x00b" }), "turn.text"},
		"long caption":        {turn(func(t *mnemev1.Turn) { t.Caption = strings.Repeat("c", 5000) }), "turn.caption"},
		"no time":             {turn(func(t *mnemev1.Turn) { t.Time = nil }), "turn.time"},
		"year 1": {turn(func(t *mnemev1.Turn) {
			t.Time = timestamppb.New(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
		}), "turn.time"},
		"year 9999": {turn(func(t *mnemev1.Turn) { t.Time = timestamppb.New(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)) }),
			"turn.time"},
		"time out of range": {turn(func(t *mnemev1.Turn) { t.Time = &timestamppb.Timestamp{Seconds: 1 << 60} }), "turn.time"},
		"offset of a day":   {turn(func(t *mnemev1.Turn) { t.UtcOffsetMinutes = -24 * 60 }), "turn.utc_offset_minutes"},
		"closed without time": {func(e *mnemev1.SessionEvent) {
			e.Event = &mnemev1.SessionEvent_SessionClosed{SessionClosed: &mnemev1.SessionClosed{}}
		}, "session_closed.time"},
		"erased without time": {func(e *mnemev1.SessionEvent) {
			e.SessionId, e.Event = "", &mnemev1.SessionEvent_UserErased{UserErased: &mnemev1.UserErased{}}
		}, "user_erased.time"},
		"erased in a session": {func(e *mnemev1.SessionEvent) {
			e.Event = &mnemev1.SessionEvent_UserErased{UserErased: &mnemev1.UserErased{Time: timestamppb.New(now)}}
		}, "session_id"},
		"idle for less than a second": {func(e *mnemev1.SessionEvent) {
			e.IdleAfter = durationpb.New(time.Second - 1)
		}, "idle_after"},
		"idle for more than a day": {func(e *mnemev1.SessionEvent) {
			e.IdleAfter = durationpb.New(24*time.Hour + 1)
		}, "idle_after"},
		"idle for no valid time": {func(e *mnemev1.SessionEvent) {
			e.IdleAfter = &durationpb.Duration{Seconds: 2, Nanos: -1}
		},
			"idle_after"},
	} {
		t.Run(name, func(t *testing.T) {
			e := valid()
			tc.change(e)
			_, err := contract.DecodeSessionEvent([]byte(key), encode(t, e), now)
			if !fault.IsTerminal(err) || fault.Field(err) != tc.field {
				t.Fatalf("error %v, want a terminal one that names %s", err, tc.field)
			}
			if !strings.HasPrefix(err.Error(), tc.field) {
				t.Errorf("message %q does not begin with the field", err)
			}
		})
	}
}

func TestBytesThatAreNoEvent(t *testing.T) {
	badText := bytes.Replace(encode(t, valid()), []byte("Porto"), []byte("P\xff\xfeto"), 1)
	badUser := protowire.AppendString(protowire.AppendTag(nil, 4, protowire.BytesType), "a\xff")
	for name, tc := range map[string]struct {
		value []byte
		field string
	}{
		"nothing":                  {nil, ""},
		"noise":                    {[]byte{0xff, 0xff, 0xff}, ""},
		"JSON":                     {[]byte(`{"turn":"x"}`), ""},
		"truncated":                {encode(t, valid())[:20], ""},
		"invalid UTF-8 in text":    {badText, "turn.text"},
		"invalid UTF-8 in user id": {badUser, "user_id"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := contract.DecodeSessionEvent([]byte(key), tc.value, now)
			if !fault.IsTerminal(err) || fault.Field(err) != tc.field {
				t.Fatalf("error %v (field %q), want a terminal one about %q", err, fault.Field(err), tc.field)
			}
		})
	}
}

// ofUser is the envelope of an event about the whole user.
func ofUser() contract.Envelope {
	e := envelope()
	e.SessionID = ""
	return e
}

func TestSessionEventRoundTrip(t *testing.T) {
	for name, e := range map[string]contract.SessionEvent{
		"turn": {Envelope: envelope(), Turn: &memory.Turn{ID: "t1", SessionID: "s1", Speaker: "Ana",
			Role: memory.RoleAssistant, Text: "Olá",
			Caption: "a kite", Time: now}},
		"attributes": {Envelope: envelope(), Turn: &memory.Turn{ID: "t1", SessionID: "s1", Speaker: "Ana",
			Role: memory.RoleUser, Text: "Olá",
			Time: now, Attributes: memory.Attributes{
				Metadata: map[string]any{"colour": "red", "n": -0.5, "tags": []any{"a", true}, "in": map[string]any{"x": nil}},
				AgentID:  "a1", AppID: "app", RunID: "r1",
			}}},
		"turn in an offset": {Envelope: envelope(),
			Turn: &memory.Turn{ID: "t1", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser,
				Text: "Olá", Time: now.In(time.FixedZone("", -(3*60+30)*60))}},
		"turn with an idle time": {Envelope: envelope(), Turn: &memory.Turn{
			ID: "t1", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: "Olá", Time: now},
			IdleAfter: 24 * time.Hour},
		"closed": {Envelope: envelope(), ClosedAt: now},
		"erased": {Envelope: ofUser(), ErasedAt: now},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := contract.DecodeSessionEvent(e.Key(), value, now)
			if err != nil {
				t.Fatal(err)
			}
			if got.Envelope != e.Envelope || got.IdleAfter != e.IdleAfter || !got.ClosedAt.Equal(e.ClosedAt) ||
				!got.ErasedAt.Equal(e.ErasedAt) ||
				(got.Turn == nil) != (e.Turn == nil) {
				t.Fatalf("got %+v, want %+v", got, e)
			}
			if got.Turn != nil && !reflect.DeepEqual(got.Turn, e.Turn) {
				t.Fatalf("turn %+v, want %+v", *got.Turn, *e.Turn)
			}
		})
	}
}

func TestSalientEventRoundTrip(t *testing.T) {
	d := memory.SaliencyDecision{Score: 0.7, Threshold: 0.4, PolicyVersion: "p1", DecidedAt: now}
	turn := memory.Turn{ID: "t1", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: "secret words", Time: now,
		Attributes: memory.Attributes{Metadata: map[string]any{"colour": "red"}, AgentID: "a1"}}
	kept := d
	kept.Salient = true
	gated, marked, off := d, d, kept
	gated.Mode, marked.Mode, off.Mode = memory.SaliencyGate, memory.SaliencyMark, memory.SaliencyOff
	textless := memory.Turn{ID: "t1", SessionID: "s1", Time: now}
	for name, e := range map[string]contract.SalientEvent{
		"turn":                  {Envelope: envelope(), Turn: &turn, Decision: kept},
		"marked turn":           {Envelope: envelope(), Turn: &turn, Decision: marked},
		"turn nobody rated":     {Envelope: envelope(), Turn: &turn, Decision: off},
		"turn with idle time":   {Envelope: envelope(), Turn: &turn, Decision: kept, IdleAfter: time.Second},
		"dropped":               {Envelope: envelope(), Dropped: &turn, Decision: gated, IdleAfter: time.Second},
		"dropped by old filter": {Envelope: envelope(), Dropped: &textless, Decision: d},
		"closed":                {Envelope: envelope(), ClosedAt: now},
		"erased":                {Envelope: ofUser(), ErasedAt: now},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := contract.DecodeSalientEvent(e.Key(), value, now)
			if err != nil {
				t.Fatal(err)
			}
			if (got.Turn == nil) != (e.Turn == nil) || (got.Dropped == nil) != (e.Dropped == nil) ||
				!got.ClosedAt.Equal(e.ClosedAt) ||
				!got.ErasedAt.Equal(e.ErasedAt) || got.Decision != e.Decision || got.IdleAfter != e.IdleAfter {
				t.Fatalf("got %+v, want %+v", got, e)
			}
			if e.Dropped != nil && !reflect.DeepEqual(got.Dropped, e.Dropped) {
				t.Errorf("dropped %+v, want %+v", *got.Dropped, *e.Dropped)
			}
		})
	}
}

func TestFeedbackRefusals(t *testing.T) {
	many := make([]string, contract.MaxShown+1)
	for i := range many {
		many[i] = strings.Repeat("m", i+1)
	}
	for name, tc := range map[string]struct {
		f     contract.Feedback
		field string
	}{
		"no recall":       {contract.Feedback{Shown: []string{"a"}}, "recall_id"},
		"nothing shown":   {contract.Feedback{RecallID: "r"}, "shown_ids"},
		"too many shown":  {contract.Feedback{RecallID: "r", Shown: many}, "shown_ids"},
		"shown twice":     {contract.Feedback{RecallID: "r", Shown: []string{"a", "a"}}, "shown_ids"},
		"cited not shown": {contract.Feedback{RecallID: "r", Shown: []string{"a"}, Cited: []string{"b"}}, "cited_ids"},
		"cited twice":     {contract.Feedback{RecallID: "r", Shown: []string{"a"}, Cited: []string{"a", "a"}}, "cited_ids"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.f.Encode(); fault.Field(err) != tc.field {
				t.Fatalf("error %v, want one about %s", err, tc.field)
			}
		})
	}
}

func TestChangeAndFeedbackRoundTrip(t *testing.T) {
	c := contract.MemoryChange{Envelope: contract.Envelope{EventID: "o1", Scope: envelope().Scope},
		Operation: memory.OpMerge, MemoryID: "m",
		ClosedIDs: []string{"a", "b"}, Tier: memory.TierTalk, Time: now}
	value, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	gotChange, err := contract.DecodeMemoryChange(c.Key(), value)
	if err != nil || gotChange.Operation != memory.OpMerge || len(gotChange.ClosedIDs) != 2 || gotChange.Tier != c.Tier {
		t.Fatalf("change %+v, error %v", gotChange, err)
	}
	f := contract.Feedback{Envelope: contract.Envelope{EventID: "r", Scope: envelope().Scope}, RecallID: "r",
		Shown: []string{"a", "b"},
		Cited: []string{"b"}, Time: now}
	for _, f.Source = range []contract.CitationSource{
		contract.CitationUnknown, contract.CitationEmbedded, contract.CitationModel, contract.CitationCaller,
	} {
		if value, err = f.Encode(); err != nil {
			t.Fatal(err)
		}
		gotFeedback, err := contract.DecodeFeedback(f.Key(), value, now)
		if err != nil || !reflect.DeepEqual(gotFeedback, f) {
			t.Fatalf("feedback %+v, error %v, want %+v", gotFeedback, err, f)
		}
	}
}

func TestTiersRoundTrip(t *testing.T) {
	for _, tier := range []memory.Tier{memory.TierMemory, memory.TierTalk} {
		p := contract.MemoryToProto(memory.Memory{Tier: tier})
		if got, ok := contract.TierFrom(p.GetTier()); !ok || got != tier || p.GetTier() == mnemev1.Tier_TIER_UNSPECIFIED {
			t.Errorf("got %q and %t of %s, want %q", got, ok, p.GetTier(), tier)
		}
	}
	for _, p := range []mnemev1.Tier{mnemev1.Tier_TIER_UNSPECIFIED, 99} {
		if _, ok := contract.TierFrom(p); ok {
			t.Errorf("%s is a tier, want none", p)
		}
	}
}

func TestATurnOfAHiddenUserIsRefused(t *testing.T) {
	e := valid()
	e.UserId = "an\u200ba"
	if _, err := contract.DecodeSessionEvent([]byte("acme/an\u200ba"), encode(t, e), now); fault.Field(err) != "user_id" {
		t.Errorf("got %v", err)
	}
}

// Old ids stay usable: sessions with ids that an older version accepted can end, and their users can be erased.
func TestEndsAndErasuresOfOlderIDsAreAccepted(t *testing.T) {
	for _, id := range []string{"\u200b", "a\r\nb", "..", "a\u202eb"} {
		scope := memory.Scope{Tenant: "acme", User: id}
		for name, e := range map[string]contract.SessionEvent{
			"closed": {Envelope: contract.Envelope{EventID: "e1", Scope: scope, SessionID: id}, ClosedAt: now},
			"erased": {Envelope: contract.Envelope{EventID: "e1", Scope: scope}, ErasedAt: now},
		} {
			value, err := e.Encode()
			if err == nil {
				_, err = contract.DecodeSessionEvent(e.Key(), value, now)
			}
			if err != nil {
				t.Errorf("%s of %q: %v", name, id, err)
			}
		}
	}
}

// An unknown citation source from a later version does not make the record invalid.
func TestACitationSourceOfALaterVersionIsUnknown(t *testing.T) {
	f := contract.Feedback{Envelope: contract.Envelope{EventID: "r", Scope: envelope().Scope}, RecallID: "r",
		Shown: []string{"a"}, Time: now}
	value, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	value = protowire.AppendVarint(protowire.AppendTag(value, 9, protowire.VarintType), 77)
	if got, err := contract.DecodeFeedback(f.Key(), value, now); err != nil || got.Source != contract.CitationUnknown {
		t.Fatalf("feedback %+v, error %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(key), encode(f, valid()))
	f.Add([]byte{}, []byte{0x0a, 0xff})
	f.Fuzz(func(t *testing.T, k, value []byte) {
		check := func(err error) {
			if err != nil && !fault.IsTerminal(err) {
				t.Fatalf("a record was refused with an error that is not terminal: %v", err)
			}
		}
		e, err := contract.DecodeSessionEvent(k, value, now)
		check(err)
		if err == nil && e.Turn != nil && (e.Turn.Text == "" || len(e.Turn.Text) > memory.MaxTextBytes) {
			t.Fatal("a turn without a valid text passed")
		}
		_, err = contract.DecodeSalientEvent(k, value, now)
		check(err)
		_, err = contract.DecodeMemoryChange(k, value)
		check(err)
		_, err = contract.DecodeFeedback(k, value, now)
		check(err)
	})
}

func envelope() contract.Envelope {
	return contract.Envelope{EventID: "e1", Scope: memory.Scope{Tenant: "acme", User: "ana"}, SessionID: "s1"}
}

func TestALongTurnIsShortened(t *testing.T) {
	e := valid()
	e.GetTurn().Text = strings.Repeat("a", memory.MaxTurnBytes)
	got, err := contract.DecodeSessionEvent([]byte(key), encode(t, e), now)
	if err != nil || len(got.Turn.Text) > memory.MaxTextBytes || got.LeftOut < memory.MaxTurnBytes-memory.MaxTextBytes {
		t.Fatalf("%v, %d bytes, %d left out", err, len(got.Turn.Text), got.LeftOut)
	}
	value, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := contract.DecodeSessionEvent([]byte(key), value, now)
	if err != nil || again.LeftOut != 0 || !again.Turn.SameAs(*got.Turn) {
		t.Errorf("%v, the shortened turn changes: %d left out", err, again.LeftOut)
	}
	if _, err := contract.TurnFrom(e.GetTurn(), "s1", now); fault.Field(err) != "turn.text" {
		t.Errorf("the words of a memory are shortened: %v", err)
	}
}

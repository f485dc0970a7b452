package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
)

const fileUser, fileSessions, fileTurns = "talk-1", 10, 223

// conversationFile is a file in LoCoMo's format with two speakers. Some turns state facts about the speaker; the
// others are small talk.
func conversationFile(t *testing.T) []byte {
	t.Helper()
	says := []string{
		"I live in %s now.", "Haha, nice!", "I went to the museum in %s yesterday.", "What do you think?",
		"My sister works in %s.",
		"Okay.", "I love the markets of %s.", "Thanks!", "I painted a picture of %s last week.", "That sounds great!",
	}
	places := []string{"Ghent", "Turku", "Split", "Graz", "Cork", "Bergen", "Lyon"}
	talk := map[string]any{"speaker_a": "Mirela", "speaker_b": "Tomas"}
	at, n := time.Date(2023, time.May, 8, 13, 56, 0, 0, time.UTC), 0
	for s := 1; s <= fileSessions; s++ {
		turns := []map[string]string{}
		for i := 1; i <= fileTurns/fileSessions || (s == fileSessions && n < fileTurns); i++ {
			text := says[n%len(says)]
			if n%2 == 0 && says[n%len(says)] != "What do you think?" {
				text = fmt.Sprintf(text, places[n%len(places)])
			}
			turns = append(
				turns,
				map[string]string{"speaker": []string{"Mirela", "Tomas"}[i%2], "dia_id": fmt.Sprintf("D%d:%d", s, i), "text": text},
			)
			n++
		}
		talk[fmt.Sprintf("session_%d", s)] = turns
		talk[fmt.Sprintf("session_%d_date_time", s)] = at.AddDate(0, 0, 9*s).Format("3:04 pm on 2 January, 2006")
	}
	content, err := json.Marshal([]any{map[string]any{"sample_id": fileUser, "conversation": talk}})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Every turn of a long file gets exactly one decision, and the memories of its session are formed.
func TestALongConversationFileIsAccountedFor(t *testing.T) {
	sessions, _, err := dataset.Read(bytes.NewReader(conversationFile(t)), dataset.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turns := map[string]bool{}
	for _, s := range sessions {
		for _, turn := range s.Turns {
			turns[turn.ID] = true
		}
	}
	if len(sessions) != fileSessions || len(turns) != fileTurns {
		t.Fatalf("%d sessions with %d turns, want %d with %d", len(sessions), len(turns), fileSessions, fileTurns)
	}
	shared.Publish(t, tenantFile, sessions...)
	shared.AwaitFormed(t, tenantFile, sessions...)
	salient, dropped := decisions(t, turns)
	if len(salient)+len(dropped) != fileTurns || len(salient) == 0 || len(dropped) == 0 {
		t.Errorf("%d turns salient and %d dropped, want some of each and %d together", len(salient), len(dropped), fileTurns)
	}
	memories := shared.Memories(t, tenantFile, fileUser)
	if len(memories) < fileSessions {
		t.Errorf("%d memories of %d sessions", len(memories), fileSessions)
	}
	for _, m := range memories {
		if len(m.GetSourceTurnIds()) == 0 {
			t.Errorf("memory %s has no source", m.GetId())
		}
		for _, id := range m.GetSourceTurnIds() {
			if !turns[id] || !salient[id] {
				t.Errorf("memory %s names the source %q, which is no salient turn of the file", m.GetId(), id)
			}
		}
	}
	if deadLetters := shared.DeadLetters(t, tenantFile+"/"); len(deadLetters) != 0 {
		t.Errorf("%d dead letters, the first says %q", len(deadLetters), deadLetters[0].GetReason())
	}
}

// decisions reads the filter's decisions on the file's turns from the bus.
func decisions(t *testing.T, turns map[string]bool) (salient, dropped map[string]bool) {
	t.Helper()
	salient, dropped = map[string]bool{}, map[string]bool{}
	ends := 0
	for _, m := range shared.Records(t, contract.TopicSalientTurns) {
		var e mnemev1.SalientEvent
		if err := proto.Unmarshal(m.Value, &e); err != nil || e.GetTenantId() != tenantFile {
			continue // other tests also publish here, with unreadable records, too
		}
		id, into := e.GetTurn().GetTurn().GetTurnId(), salient
		switch {
		case e.GetSessionClosed() != nil:
			ends++
			continue
		case e.GetDropped() != nil:
			id, into = e.GetDropped().GetTurnId(), dropped
		}
		if !turns[id] || salient[id] || dropped[id] {
			t.Errorf("turn %q is decided on twice, or is not of the file", id)
		}
		into[id] = true
	}
	if ends != fileSessions {
		t.Errorf("%d sessions ended, want %d", ends, fileSessions)
	}
	return salient, dropped
}

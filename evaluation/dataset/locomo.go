package dataset

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// locomoTime is how LoCoMo dates its sessions: "1:56 pm on 8 May, 2023".
const locomoTime = "3:04 pm on 2 January, 2006"

type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
}

type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// readLoCoMo reads LoCoMo's file (Maharana et al., ACL 2024; github.com/snap-research/locomo): a list
// of samples. A sample becomes a user, named by its sample_id; both of its speakers are people.
func readLoCoMo(r io.Reader) ([]Session, error) {
	var samples []locomoSample
	if err := json.NewDecoder(r).Decode(&samples); err != nil {
		return nil, fmt.Errorf("%w: want a JSON list of LoCoMo samples: %w", ErrFormat, err)
	}
	var out []Session
	for i, s := range samples {
		if s.ID == "" || s.Conversation == nil {
			return nil, fmt.Errorf("%w: sample %d has no sample_id or conversation", ErrFormat, i)
		}
		sessions, err := s.sessions()
		if err != nil {
			return nil, fmt.Errorf("%w: sample %s: %w", ErrFormat, s.ID, err)
		}
		out = append(out, sessions...)
	}
	return out, nil
}

// sessions reads session_1, session_2 and so on. There are dates of sessions that do not exist;
// they are passed over.
func (s locomoSample) sessions() ([]Session, error) {
	var out []Session
	for n := 1; n <= s.last(); n++ {
		name := "session_" + strconv.Itoa(n)
		raw, ok := s.Conversation[name]
		if !ok {
			continue
		}
		var turns []locomoTurn
		if err := json.Unmarshal(raw, &turns); err != nil {
			return nil, fmt.Errorf("%s: want a list of turns: %w", name, err)
		}
		began, err := s.date(name)
		if err != nil {
			return nil, err
		}
		session := Session{User: s.ID, ID: name}
		for i, t := range turns {
			session.Turns = append(session.Turns, t.turn(name, began.Add(time.Duration(i)*time.Second)))
		}
		out = append(out, session)
	}
	return out, nil
}

// last is the highest number of a session.
func (s locomoSample) last() int {
	last := 0
	for key := range s.Conversation {
		if n, err := strconv.Atoi(strings.TrimPrefix(key, "session_")); err == nil {
			last = max(last, n)
		}
	}
	return last
}

func (s locomoSample) date(session string) (time.Time, error) {
	var text string
	if err := json.Unmarshal(s.Conversation[session+"_date_time"], &text); err != nil {
		return time.Time{}, fmt.Errorf("%s_date_time: want a text: %w", session, err)
	}
	t, err := time.Parse(locomoTime, strings.ToLower(strings.TrimSpace(text)))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s_date_time: want a time like 1:56 pm on 8 May, 2023: %w", session, err)
	}
	return t, nil
}

// turn converts a turn. All turns of a session share one date, so each comes a second after the
// one before, to keep their order.
func (t locomoTurn) turn(session string, at time.Time) memory.Turn {
	return memory.Turn{
		ID: t.ID, SessionID: session, Speaker: t.Speaker, Role: memory.RoleUser,
		Text: t.Text, Caption: t.Caption, Time: at,
	}
}

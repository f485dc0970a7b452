package dataset

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// Observation is a sentence that a model extracted from a session for LoCoMo's authors.
type Observation struct {
	// Speaker is the person that the sentence describes.
	Speaker string
	// Text is the sentence.
	Text string
	// Turns are the ids of the source turns. It is empty if the file names no existing turn.
	Turns []string
}

// ErrNoObservations says that the format of a file, or a sample in a file, has no observations.
var ErrNoObservations = fmt.Errorf("%w: it has no observations", ErrFormat)

// Observations reads LoCoMo's observations by user and by session id ("session_3"). An evaluation can replay them in
// place of an extractor.
//
// It reads sample_id, the turn ids of the conversation, and session_N_observation of observation. The latter holds by
// speaker a list of pairs: a sentence, and one id or a list of ids. Within a session, speakers are sorted by name;
// sentences keep the file's order. Ids are repaired and counted like the ids of evidence. Without observations the
// error is ErrNoObservations.
func Observations(path string) (map[string]map[string][]Observation, Repairs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Repairs{}, err
	}
	defer f.Close()
	read, err := recognise(f)
	if err == nil && read != formatLoCoMo {
		err = ErrNoObservations
	}
	if err != nil {
		return nil, Repairs{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, Repairs{}, err
	}
	samples, err := decodeLoCoMo(plain(f))
	if err != nil {
		return nil, Repairs{}, err
	}
	repairs := Repairs{}
	out := map[string]map[string][]Observation{}
	for _, s := range samples {
		if out[s.ID], err = s.observations(&repairs); err != nil {
			return nil, Repairs{}, fmt.Errorf("%w: sample %s: %w", ErrFormat, s.ID, err)
		}
	}
	return out, repairs, nil
}

func (s *locomoSample) observations(repairs *Repairs) (map[string][]Observation, error) {
	if s.Observation == nil {
		return nil, ErrNoObservations
	}
	var sessions map[string]map[string][][]json.RawMessage
	if err := json.Unmarshal(s.Observation, &sessions); err != nil || sessions == nil {
		return nil, fmt.Errorf("observation: want an object of sessions")
	}
	known := Subject{Sessions: s.sessions}.TurnIDs()
	out := map[string][]Observation{}
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		session, ok := strings.CutSuffix(name, "_observation")
		if !ok {
			return nil, fmt.Errorf("observation: field %s, want session_N_observation", name)
		}
		for _, speaker := range slices.Sorted(maps.Keys(sessions[name])) {
			for i, pair := range sessions[name][speaker] {
				o, err := observation(pair, known, repairs)
				if err != nil {
					return nil, fmt.Errorf("%s, %s, %d: %w", name, speaker, i, err)
				}
				o.Speaker = speaker
				out[session] = append(out[session], o)
			}
		}
	}
	return out, nil
}

// observation reads a pair of a sentence and the ids of its turns. Error messages must not contain its text.
func observation(pair []json.RawMessage, known map[string]bool, repairs *Repairs) (Observation, error) {
	var o Observation
	if len(pair) != 2 {
		return o, fmt.Errorf("has %d parts, want a sentence and ids", len(pair))
	}
	if err := json.Unmarshal(pair[0], &o.Text); err != nil || o.Text == "" {
		return o, fmt.Errorf("the first part is not a sentence")
	}
	ids := make([]string, 1)
	if json.Unmarshal(pair[1], &ids[0]) != nil && json.Unmarshal(pair[1], &ids) != nil {
		return o, fmt.Errorf("the second part is neither an id nor a list of ids")
	}
	for _, written := range ids {
		o.Turns = append(o.Turns, repair(written, known, repairs)...)
	}
	return o, nil
}

package judge

import (
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// answeredData is the model's view of an answered question. Each step leaves out the irrelevant fields.
type answeredData struct {
	Question     string          `json:"question"`
	Conversation []utteranceData `json:"conversation,omitempty"`
	Memory       []utteranceData `json:"memory"`
	Profile      *[]string       `json:"profile,omitempty"`
	Answer       *string         `json:"answer,omitempty"`
	Golden       string          `json:"golden,omitempty"`
	NoLonger     []string        `json:"no_longer,omitempty"`
}

type utteranceData struct {
	Said    string `json:"said,omitempty"`
	Speaker string `json:"speaker,omitempty"`
	Text    string `json:"text"`
}

type entriesData struct {
	Entries []entryData `json:"entries"`
}

type entryData struct {
	ID   string          `json:"id"`
	Text string          `json:"text"`
	From []utteranceData `json:"from"`
}

func shown(a reward.Answered) answeredData {
	out := answeredData{Question: a.Question, Conversation: encodeUtterances(a.Conversation),
		Memory: make([]utteranceData, len(a.Memory))}
	for i, m := range a.Memory {
		out.Memory[i] = utteranceData{Said: llm.ShowTime(m.Time), Speaker: m.Speaker, Text: m.Text}
	}
	return out
}

func encodeUtterances(utterances []reward.Utterance) []utteranceData {
	out := make([]utteranceData, len(utterances))
	for i, u := range utterances {
		out[i] = utteranceData{Said: llm.ShowTime(u.Time), Speaker: u.Speaker, Text: u.Text}
	}
	return out
}

// Forms of the model's answers. The reason comes first, so that the verdict follows from it.
type (
	responseAnswer struct {
		Reason          string  `json:"reason"`
		Accuracy        float64 `json:"accuracy" desc:"0 to 1"`
		Applicable      bool    `json:"applicable" desc:"whether anything remembered could help with the question"`
		Personalization float64 `json:"personalization" desc:"0 to 1; 0 where not applicable"`
	}
	entriesAnswer struct {
		Entries []entryAnswer `json:"entries"`
	}
	entryAnswer struct {
		ID       string `json:"id"`
		Reason   string `json:"reason" desc:"a few words"`
		Faithful bool   `json:"faithful"`
		Vague    bool   `json:"vague"`
	}
	utilizationAnswer struct {
		Reason      string  `json:"reason"`
		Utilization float64 `json:"utilization" desc:"0 to 1"`
	}
	personalAnswer struct {
		Reason   string `json:"reason"`
		Personal bool   `json:"personal"`
	}
	qualityAnswer struct {
		Reason      string `json:"reason"`
		Rich        bool   `json:"rich"`
		ValueAdding bool   `json:"value_adding"`
		Fitting     bool   `json:"fitting"`
		Relevant    bool   `json:"relevant"`
		Sound       bool   `json:"sound"`
	}
	signalsAnswer struct {
		Reason string `json:"reason"`
		Missed bool   `json:"missed"`
	}
)

// count counts the judged entries. The answer must have each of all entries once.
func (a entriesAnswer) count(all int) (out reward.Entries, err error) {
	missing := map[string]bool{}
	for i := range all {
		missing[id(i)] = true
	}
	for _, e := range a.Entries {
		if !missing[e.ID] {
			return out, structured.Faultf("%s is no entry, or judged twice; want each of e1 to %s once", structured.Alias(e.ID),
				id(all-1))
		}
		delete(missing, e.ID)
		out.All++
		if e.Faithful {
			out.Factual++
		}
		if e.Vague {
			out.Vague++
		}
	}
	if len(missing) > 0 {
		return out, structured.Faultf("%d of %d entries are not judged; want each of e1 to %s once", len(missing), all,
			id(all-1))
	}
	return out, nil
}

func (q qualityAnswer) class() reward.Personalization {
	return reward.PersonalizationQuality{
		Rich: q.Rich, ValueAdding: q.ValueAdding, Fitting: q.Fitting, Relevant: q.Relevant, Sound: q.Sound,
	}.Class()
}

package reinforcement

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
)

// question asks for the value of a target. It can be asked from its session on, as long as the value holds.
type question struct {
	text   string
	vector memory.Vector
	// value is the right answer. stale is the value that the target replaced.
	value string
	stale []string
	// session is the session that tells the value.
	session int
}

const (
	// found is the number of entries for an answer, best first.
	found = 5
	// profileWords is the longest length of a profile.
	profileWords = 120
	// perSession is the number of questions about a session (MemBuilder, 3.4.1).
	perSession = 5
)

// makeQuestions makes a question for each target with a value in its turns.
func (p *person) makeQuestions(ctx context.Context) error {
	said := map[string]string{}
	for _, s := range p.Sessions {
		for _, t := range s.Turns {
			said[t.ID] = t.Text
		}
	}
	p.questions = make([]question, len(p.Targets))
	var texts []string
	var at []int
	for i, target := range p.Targets {
		if target.Question == "" {
			continue
		}
		var turns strings.Builder
		for _, id := range target.Turns {
			turns.WriteString(said[id] + "\n")
		}
		value := target.Value
		if !tells(turns.String(), value) {
			value = target.Keywords[0]
		}
		if !tells(turns.String(), value) {
			continue // no turn tells the value
		}
		p.likes[target.Question] = p.likes[target.Question] || target.Domain == preference
		q := question{text: target.Question, value: value, session: target.Session}
		if target.Evolution != synthesis.EvolutionExpand {
			for j := target.Predecessor; j >= 0; j = p.Targets[j].Predecessor {
				if !tells(value, p.Targets[j].Value) {
					q.stale = append(q.stale, p.Targets[j].Value)
				}
			}
		}
		p.questions[i] = q
		texts, at = append(texts, q.text), append(at, i)
	}
	vectors, err := p.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed questions: %w", err)
	}
	for i, v := range vectors {
		p.questions[at[i]].vector = v
	}
	return nil
}

func tells(text, value string) bool { return reward.Coverage([]string{value}, []string{text}) > 0.99 }

// about returns the questions about the facts of some sessions that hold after the last of them, at most `most` a
// session.
func (p *person) about(from, to, most int) (out []int) {
	holds, asked := p.currentTargets(to-1), map[int]int{}
	for i, q := range p.questions {
		if q.text != "" && q.session >= from && q.session < to && holds[i] && asked[q.session] < most {
			asked[q.session]++
			out = append(out, i)
		}
	}
	return out
}

// answers are a bank's answers to questions.
type answers struct {
	// scores has the score of each question, 0 or 1.
	scores []float64
}

func (a answers) right() (n int) {
	for _, s := range a.scores {
		n += int(s)
	}
	return n
}

// ask asks a life's bank after a session. The first found entry with the right or a replaced value answers the
// question.
func (p *person) ask(ctx context.Context, l *formation.Life, questions []int, session int) (answers, error) {
	var out answers
	if len(questions) == 0 {
		return out, nil
	}
	index, err := rehearsal.Index(ctx, l.Bank(), p.subject.Scope)
	if err != nil {
		return out, err
	}
	for _, i := range questions {
		score, read := 0.0, false
		for _, m := range p.search(index, i, session) {
			right := tells(m.Content, p.questions[i].value)
			if !read && right {
				score = 1
			}
			read = read || right || p.isStale(i, m.Content)
		}
		out.scores = append(out.scores, score)
	}
	return out, nil
}

func (p *person) isStale(question int, text string) bool {
	for _, v := range p.questions[question].stale {
		if tells(text, v) {
			return true
		}
	}
	return false
}

// understand reads a question at the end of a session.
func (p *person) understand(question, session int) query.Query {
	return query.Understand(query.Input{Text: p.questions[question].text, Now: p.subject.Sessions[session].End()})
}

// search returns the active entries for a question, best first, by the shipped weights.
func (p *person) search(index *features.Index, question, session int) (out []memory.Memory) {
	q := p.questions[question]
	asked := features.Query{Query: p.understand(question, session), Vector: q.vector}
	for _, c := range index.Candidates(asked, prior().W, found) {
		out = append(out, c.Memory)
	}
	return out
}

// prior are the shipped weights.
var prior = sync.OnceValue(func() ranking.Weights {
	p, err := features.Prior()
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return p.Weights
})

// show writes profile and answer for a question after a session, as a service does with a chooser.
func (p *person) show(
	ctx context.Context, index *features.Index, bank []reward.BankEntry, choose decision.Chooser, question, session int,
) (reward.Answered, error) {
	q := p.questions[question]
	e := recall.Evidence{
		Query: p.understand(question, session), Memories: p.search(index, question, session), WordBudget: profileWords,
	}
	profile, err := profiler.Deciding(choose).Profile(ctx, p.subject.Scope, e)
	if err != nil {
		return reward.Answered{}, fmt.Errorf("profile: %w", err)
	}
	answer, err := generator.Answer(ctx, p.subject.Scope, e, profile)
	if err != nil {
		return reward.Answered{}, fmt.Errorf("answer: %w", err)
	}
	out := reward.Answered{Question: q.text, Memory: bank, Answer: answer.Text, Golden: q.value, Outdated: q.stale}
	for _, s := range profile.Sections {
		out.Profile = append(out.Profile, s.Lines...)
	}
	return out, nil
}

var (
	profiler  = embedded.NewProfiler()
	generator = embedded.NewGenerator()
)

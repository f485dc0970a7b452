package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Limits and defaults of recalls, from the contract in proto/. The default size of a search is an exception.
const (
	defaultMemories, maxMemories     = 20, 100
	defaultFound                     = 10
	defaultWords, minWords, maxWords = 400, 20, 10_000
)

// spoken is one of the last turns of the conversation that a query belongs to.
type spoken struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type recallInput struct {
	Query      string          `json:"query"`
	UserID     string          `json:"user_id"`
	Memories   *int            `json:"memories"`
	WordBudget *int            `json:"word_budget"`
	AsOf       string          `json:"as_of"`
	Messages   []spoken        `json:"messages"`
	Filter     json.RawMessage `json:"filter"`
}

func (in recallInput) check() error {
	messages := make([]memory.Message, len(in.Messages))
	for i, m := range in.Messages {
		messages[i] = memory.Message{Role: memory.Role(m.Role), Content: m.Content}
	}
	_, wrongTime := asOf(in.AsOf)
	return cmp.Or(memory.ValidText("query", in.Query, memory.MaxQueryBytes),
		optional("user_id", in.UserID, memory.MaxUserBytes), between("memories", in.Memories, 1, maxMemories),
		between("word_budget", in.WordBudget, minWords, maxWords), wrongTime, checkFilter(in.Filter),
		memory.ValidMessages(messages))
}

// request builds the request from the checked input.
func (in recallInput) request(user string) *mnemev1.RecallRequest {
	out := &mnemev1.RecallRequest{UserId: user, Query: in.Query}
	if in.Memories != nil {
		out.Memories = uint32(*in.Memories) //nolint:gosec // checked
	}
	if in.WordBudget != nil {
		out.WordBudget = uint32(*in.WordBudget) //nolint:gosec // checked
	}
	if at, _ := asOf(in.AsOf); !at.IsZero() { // checked
		out.AsOf = timestamppb.New(at)
	}
	out.Filter, _ = filterOf(in.Filter) // checked
	for _, m := range in.Messages {
		out.Messages = append(out.Messages, &mnemev1.Message{Role: m.Role, Content: m.Content})
	}
	return out
}

// asOf reads a time or a day. A day means its end, so turns of that day count.
func asOf(given string) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, given); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
	}
	at, err := time.Parse(time.RFC3339, given)
	if err != nil {
		return at, problem.Invalid("as_of", "is neither a day such as 2026-03-01 nor a time such as 2026-03-01T12:00:00Z")
	}
	return at, nil
}

type searchInput struct {
	Query  string          `json:"query"`
	UserID string          `json:"user_id"`
	Limit  *int            `json:"limit"`
	AsOf   string          `json:"as_of"`
	Filter json.RawMessage `json:"filter"`
}

func (in searchInput) check() error {
	return cmp.Or(between("limit", in.Limit, 1, maxMemories),
		recallInput{Query: in.Query, UserID: in.UserID, AsOf: in.AsOf, Filter: in.Filter}.check())
}

type foundView struct {
	Score  float64    `json:"score" jsonschema:"comparable within one result; 0 where it is shown beside the ranking"`
	Memory memoryView `json:"memory"`
}

type searchOutput struct {
	Memories []foundView `json:"memories" jsonschema:"the best first"`
	Degraded []string    `json:"degraded" jsonschema:"what was not available, such as reranker_unavailable"`
}

type recallOutput struct {
	RecallID string      `json:"recall_id"`
	Profile  string      `json:"profile" jsonschema:"what matters for the query, as text; [1] cites the memory of that index"`
	Cited    []citedView `json:"cited"`
	Degraded []string    `json:"degraded" jsonschema:"what was not available, such as reranker_unavailable"`
}

type answerOutput struct {
	Answer    string      `json:"answer" jsonschema:"[1] cites the memory of that index"`
	Abstained bool        `json:"abstained" jsonschema:"whether no memory answers; the answer then says so, or quotes a recent turn"`
	CitedIDs  []string    `json:"cited_ids" jsonschema:"the memories that the answer cites"`
	Shown     []citedView `json:"shown" jsonschema:"the memories that it was made from"`
	RecallID  string      `json:"recall_id"`
	Degraded  []string    `json:"degraded" jsonschema:"what was not available, such as reranker_unavailable"`
}

func whenAsked() property {
	return text("as_of", "A day such as 2026-03-01, or a time in RFC 3339: the recall uses the memories of that time.",
		len(time.RFC3339Nano))
}

func howMany() property {
	return number("memories",
		"Maximum number of memories. The word budget may show fewer, and the core block up to two newer memories "+
			"for each line.",
		1, maxMemories, defaultMemories)
}

func runningConversation() property {
	message := object(
		word("role", "The role of the speaker.", string(memory.RoleUser), string(memory.RoleAssistant),
			string(memory.RoleTool)).needed(),
		text("content", "The text of the message.", memory.MaxMessageBytes).needed())
	return list("messages", "The last turns of the running conversation, oldest first. They explain a query such as "+
		"\"and for her?\". They are not kept.", memory.MaxMessages, message)
}

func (s *server) addRecallTools(to *sdk.Server, takes schemas) {
	const quick = "no language model is called unless the tenant is set up so; some milliseconds."
	add(s, to, takes, tool{
		name: "search_memories", title: "Search memories", effect: reads,
		does:  "Finds the memories of a user that matter for a query, best first, with their scores.",
		costs: quick,
		input: object(query(), userID(), number("limit", "Maximum number of memories.", 1, maxMemories, defaultFound),
			whenAsked(), filterProperty()),
	}, s.search)
	add(s, to, takes, tool{
		name: "recall", title: "Recall", effect: reads,
		does: "Returns a short profile of the memories that matter for a query (constraints, preferences, facts, recent " +
			"turns, a timeline, talk) that cites its memories. Prefer it to search_memories before answering the user.",
		costs: quick,
		input: object(query(), userID(), howMany(),
			number("word_budget", "Maximum number of words in the profile.", minWords, maxWords, defaultWords), whenAsked(),
			runningConversation(), filterProperty()),
	}, s.recall)
	add(s, to, takes, tool{
		name: "answer", title: "Answer from memory", effect: adds,
		does: "Answers a question from a user's memories, with citations, or says that no memory answers it, or quotes a " +
			"recent turn. Mneme learns from the citations which memories to show. The call changes no memory.",
		costs: "a recall, and one call of a language model if the tenant has that policy, which may take seconds.",
		input: object(query(), userID(), howMany(), whenAsked(), runningConversation(), filterProperty()),
	}, s.answer)
	s.addWhy(to, takes)
}

func (s *server) search(ctx context.Context, in searchInput) (out searchOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	limit, words := defaultFound, maxWords // no memory is left out for want of words
	if in.Limit != nil {
		limit = *in.Limit
	}
	asked := recallInput{Query: in.Query, AsOf: in.AsOf, Memories: &limit, WordBudget: &words, Filter: in.Filter}
	res, err := s.Services.Recall.Recall(ctx, connect.NewRequest(asked.request(user)))
	if err != nil {
		return out, "", err
	}
	out = searchOutput{Memories: []foundView{}, Degraded: orEmpty(res.Msg.GetDegraded())}
	for _, c := range sortedByScore(citedOf(res.Msg.GetCited())) {
		out.Memories = append(out.Memories, foundView{Score: c.Score, Memory: c.Memory})
	}
	out.Memories = out.Memories[:min(limit, len(out.Memories))]
	return out, "", nil
}

func (s *server) recall(ctx context.Context, in recallInput) (out recallOutput, text string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	res, err := s.Services.Recall.Recall(ctx, connect.NewRequest(in.request(user)))
	if err != nil {
		return out, "", err
	}
	out = recallOutput{
		RecallID: res.Msg.GetRecallId(), Profile: res.Msg.GetProfile(), Cited: citedOf(res.Msg.GetCited()),
		Degraded: orEmpty(res.Msg.GetDegraded()),
	}
	return out, fenced(out.Profile) + "\n" + about(out.RecallID, out.Degraded, out.Cited), nil
}

// about returns the parts of a recall that a model can use in further calls.
func about(recallID string, degraded []string, cited []citedView) string {
	lines := []string{"recall_id: " + recallID}
	for _, c := range cited {
		lines = append(lines, fmt.Sprintf("[%d] is memory %s", c.Index, c.Memory.ID))
	}
	if len(degraded) > 0 {
		lines = append(lines, "not available: "+strings.Join(degraded, ", "))
	}
	return strings.Join(lines, "\n")
}

func (s *server) answer(ctx context.Context, in recallInput) (out answerOutput, text string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	res, err := s.Services.Recall.Answer(ctx, connect.NewRequest(&mnemev1.AnswerRequest{Recall: in.request(user)}))
	if err != nil {
		return out, "", err
	}
	recalled := res.Msg.GetRecall()
	out = answerOutput{
		Answer: res.Msg.GetAnswer(), Abstained: res.Msg.GetAbstained(), CitedIDs: orEmpty(res.Msg.GetCitedIds()),
		Shown: citedOf(recalled.GetCited()), RecallID: recalled.GetRecallId(), Degraded: orEmpty(recalled.GetDegraded()),
	}
	return out, out.Answer + "\n\n" + about(out.RecallID, out.Degraded, out.Shown), nil
}

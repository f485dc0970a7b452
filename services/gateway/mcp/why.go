package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// maxExpected is how many turns may be expected; part of the contract in proto/.
const maxExpected = 100

type whyInput struct {
	Query         string   `json:"query"`
	UserID        string   `json:"user_id"`
	ExpectText    string   `json:"expect_text"`
	ExpectTurnIDs []string `json:"expect_turn_ids"`
	RecallID      string   `json:"recall_id"`
	Memories      *int     `json:"memories"`
	AsOf          string   `json:"as_of"`
	Messages      []spoken `json:"messages"`
}

func (in whyInput) recall() recallInput {
	return recallInput{Query: in.Query, UserID: in.UserID, Memories: in.Memories, AsOf: in.AsOf, Messages: in.Messages}
}

func (in whyInput) check() error {
	if err := in.recall().check(); err != nil {
		return err
	}
	if err := optional("expect_text", in.ExpectText, memory.MaxQueryBytes); err != nil {
		return err
	}
	if n := len(in.ExpectTurnIDs); n > maxExpected {
		return problem.Invalid("expect_turn_ids", fmt.Sprintf("are %d, want at most %d", n, maxExpected))
	}
	for i, id := range in.ExpectTurnIDs {
		if err := memory.ValidText(fmt.Sprintf("expect_turn_ids[%d]", i), id, memory.MaxIDBytes); err != nil {
			return err
		}
	}
	return optional("recall_id", in.RecallID, memory.MaxIDBytes)
}

type findingView struct {
	TurnID    string   `json:"turn_id,omitempty"`
	Stage     string   `json:"stage" jsonschema:"the earliest stage at which it was lost, or answered"`
	Reason    string   `json:"reason"`
	MemoryIDs []string `json:"memory_ids" jsonschema:"the memories made from the turn, in every state"`
	Retrieved uint32   `json:"retrieved" jsonschema:"place in order of retrieval, from 1; 0 where it was not retrieved"`
	Ranked    uint32   `json:"ranked" jsonschema:"place in the reranker's order, from 1; 0 where it has none"`
}

type candidateView struct {
	MemoryID  string  `json:"memory_id"`
	Retrieved uint32  `json:"retrieved"`
	Ranked    uint32  `json:"ranked"`
	Score     float64 `json:"score"`
	Shown     bool    `json:"shown" jsonschema:"whether the profile cites it"`
}

type whyOutput struct {
	Stage      string          `json:"stage" jsonschema:"the earliest stage over all that was expected; unspecified where nothing was"`
	Findings   []findingView   `json:"findings"`
	Candidates []candidateView `json:"candidates" jsonschema:"in order of retrieval"`
	Answer     string          `json:"answer"`
	Abstained  bool            `json:"abstained"`
	CitedIDs   []string        `json:"cited_ids"`
}

func (s *server) addWhy(to *sdk.Server, takes schemas) {
	add(s, to, takes, tool{
		name: "why", title: "Why was it not remembered", effect: reads,
		does: "Returns the earliest stage that lost an expected statement of a recall, from not_ingested through " +
			"dropped_by_filter, not_extracted, lost_in_update, not_retrieved, cut_by_reranker and left_out_of_profile to " +
			"generator; or answered. Mneme learns nothing from the call. It is for people who inspect their assistant's " +
			"memory, not for answers to users.",
		costs: "a recall and an answer, with one call of a language model if the tenant has that policy, which may " +
			"take seconds.",
		input: object(query(), userID(),
			text("expect_text", "The expected statement, as text, if its turns are unknown.", memory.MaxQueryBytes),
			list("expect_turn_ids", "The turns with the expected statement.", maxExpected, schema{"type": "string"}),
			text("recall_id", "The recall to diagnose, so that the diagnosis repeats its random choices.", memory.MaxIDBytes),
			howMany(), whenAsked(), runningConversation()),
	}, s.why)
}

func (s *server) why(ctx context.Context, in whyInput) (out whyOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	return tell(ctx, s.Services.Diagnosis.Why, &mnemev1.WhyRequest{
		Recall: in.recall().request(user), ExpectText: in.ExpectText, ExpectTurnIds: in.ExpectTurnIDs, RecallId: in.RecallID,
	}, whyOf)
}

func whyOf(msg *mnemev1.WhyResponse) whyOutput {
	out := whyOutput{
		Stage: nameOf(msg.GetStage(), "STAGE_"), Findings: []findingView{}, Candidates: []candidateView{},
		Answer: msg.GetAnswer().GetAnswer(), Abstained: msg.GetAnswer().GetAbstained(),
		CitedIDs: orEmpty(msg.GetAnswer().GetCitedIds()),
	}
	for _, f := range msg.GetFindings() {
		out.Findings = append(out.Findings, findingView{
			TurnID: f.GetTurnId(), Stage: nameOf(f.GetStage(), "STAGE_"), Reason: f.GetReason(),
			MemoryIDs: orEmpty(f.GetMemoryIds()), Retrieved: f.GetRetrieved(), Ranked: f.GetRanked(),
		})
	}
	for _, c := range msg.GetCandidates() {
		out.Candidates = append(out.Candidates, candidateView{
			MemoryID: c.GetMemoryId(), Retrieved: c.GetRetrieved(), Ranked: c.GetRanked(), Score: c.GetScore(),
			Shown: c.GetShown(),
		})
	}
	return out
}

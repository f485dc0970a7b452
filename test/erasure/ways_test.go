package erasure_test

import (
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// way requests the erasure of a user and returns the erasure's id.
type way struct {
	name  string
	erase func(t *testing.T, s *system, user string) string
}

// ways returns all ways to erase a user.
func ways() []way {
	return []way{
		{"rest", eraseByREST}, {"mem0-memories", eraseByMem0Memories}, {"mem0-entity", eraseByMem0Entity},
		{"mcp-memories", eraseByTool("delete_all_memories")}, {"mcp-entity", eraseByTool("delete_entities")},
		{"rpc", eraseByRPC}, {"event", eraseByEvent}, {"cli", eraseByCLI},
	}
}

func eraseByREST(t *testing.T, s *system, user string) string {
	t.Helper()
	id, _ := s.call(t, http.MethodDelete, rest(user, ""), nil)["erasure_id"].(string)
	return id
}

// erasureOfEvent extracts the erasure's id from the id of mem0's event.
func erasureOfEvent(answer map[string]any) string {
	event, _ := answer["event_id"].(string)
	return event[strings.LastIndexByte(event, '.')+1:]
}

func eraseByMem0Memories(t *testing.T, s *system, user string) string {
	t.Helper()
	return erasureOfEvent(s.call(t, http.MethodDelete, "/v1/memories/?user_id="+url.QueryEscape(user), nil))
}

func eraseByMem0Entity(t *testing.T, s *system, user string) string {
	t.Helper()
	return erasureOfEvent(s.call(t, http.MethodDelete, "/v2/entities/user/"+url.PathEscape(user)+"/", nil))
}

func eraseByTool(name string) func(*testing.T, *system, string) string {
	return func(t *testing.T, s *system, user string) string {
		t.Helper()
		id, _ := s.tool(t, name, map[string]any{"user_id": user, "confirm": true})["erasure_id"].(string)
		return id
	}
}

// eraseByRPC calls the utilizer behind the gateway.
func eraseByRPC(t *testing.T, s *system, user string) string {
	t.Helper()
	client := mnemev1connect.NewUserDataServiceClient(s.http, s.at.Utilizer)
	req := connect.NewRequest(&mnemev1.EraseUserRequest{UserId: user})
	req.Header().Set("Authorization", "Bearer "+s.at.APIKey)
	res, err := client.EraseUser(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetErasureId()
}

// eraseByEvent publishes the event that every other way produces, as a replay after a restore does.
func eraseByEvent(t *testing.T, s *system, user string) string {
	t.Helper()
	e := contract.SessionEvent{
		Envelope: contract.Envelope{EventID: uuid.NewString(), Scope: memory.Scope{Tenant: s.at.Tenant, User: user}},
		ErasedAt: time.Now(),
	}
	value, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.publish(t, user, string(value))
	return e.EventID
}

// eraseByCLI runs the command, which waits for the proof.
func eraseByCLI(t *testing.T, s *system, user string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), s.binary, "--data", s.dir, "--json", "erase", "--user", user,
		"--yes").CombinedOutput()
	if err != nil {
		t.Fatalf("mneme erase: %v\n%s", err, out)
	}
	return ""
}

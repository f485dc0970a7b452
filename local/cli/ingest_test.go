package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/local/servers"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

// forming says of every session that it is formed, and keeps which were asked about.
type forming struct {
	mnemev1connect.UnimplementedMemoryServiceHandler
	asked []string
}

func (f *forming) GetSession(_ context.Context,
	req *connect.Request[mnemev1.GetSessionRequest]) (*connect.Response[mnemev1.GetSessionResponse], error) {
	f.asked = append(f.asked, req.Msg.GetSessionId())
	return connect.NewResponse(&mnemev1.GetSessionResponse{State: mnemev1.FormationState_FORMATION_STATE_FORMED}), nil
}

// A turn that the service refuses does not take its session's end with it: the other turns are waited for, and they alone are counted.
func TestIngestClosesASessionThatHasATurnOfABadTime(t *testing.T) {
	broker, err := servers.StartBroker(t.Context(), servers.BrokerOptions{Options: servers.Options{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Stop(context.WithoutCancel(t.Context())) })
	f := &forming{}
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(f))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)

	line := func(session, text, at string) string {
		return `{"user_id":"ana","session_id":"` + session + `","text":"` + text + `","time":"` + at + `"}` + "\n"
	}
	const late = "2999-01-01T00:00:00Z"
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	talk := line("good", "I live in Porto.", atNoon) + line("good", "I live in Porto.", atNoon) + line("bad", "I swim.", late) +
		line("mixed", "I have a dog.", atNoon) + line("mixed", "I have a cat.", late) +
		`{"user_id":"ana","session_id":"ended","text":"I run.","time":"` + atNoon + `"}` + "\n" +
		`{"user_id":"ana","session_id":"ended","closed":true,"time":"` + late + `"}` + "\n"
	if err := os.WriteFile(file, []byte(talk), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, "ingest", file, "--json", "--addr", srv.URL, "--key", key, "--brokers", broker.Addr(), "--tenant", "acme")
	if code != cli.ExitFailed || !strings.Contains(errOut, "2999") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	var got struct {
		Users, Sessions, Turns int
		Refused                []string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got.Users != 1 || got.Sessions != 3 || got.Turns != 3 || len(got.Refused) != 3 {
		t.Errorf("ingested %+v, want three turns of three sessions, and two turns and the end of a session refused", got)
	}
	if want := []string{"good", "mixed", "ended"}; !slices.Equal(f.asked, want) {
		t.Errorf("waited for %q, want %q", f.asked, want)
	}
}

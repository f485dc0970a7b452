package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

// remembering is a gateway that has formed a memory by the second recall, or never.
type remembering struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	mnemev1connect.UnimplementedUserDataServiceHandler
	never bool

	mu      sync.Mutex
	recalls int
	calls   []string
}

func (f *remembering) note(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
}

func (f *remembering) Recall(
	context.Context, *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	res := &mnemev1.RecallResponse{Profile: "peanuts"} // from the window
	if f.recalls++; f.recalls > 1 && !f.never {
		res.Cited = []*mnemev1.CitedMemory{{Index: 1, Memory: &mnemev1.Memory{Content: "is allergic to peanuts"}}}
	}
	return connect.NewResponse(res), nil
}

func (f *remembering) EraseUser(
	_ context.Context, req *connect.Request[mnemev1.EraseUserRequest],
) (*connect.Response[mnemev1.EraseUserResponse], error) {
	f.note("erase " + strings.Split(req.Msg.GetUserId(), "-")[0])
	return connect.NewResponse(&mnemev1.EraseUserResponse{}), nil
}

func (f *remembering) serve(t *testing.T) string {
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(f))
	mux.Handle(mnemev1connect.NewUserDataServiceHandler(f))
	mux.HandleFunc("POST /v1/tenants/self/users/{user}/sessions/check/{what}",
		func(w http.ResponseWriter, r *http.Request) {
			f.note(r.PathValue("what"))
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"turns":[{"id":"t1"}]}`)
		})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestCheckGateway(t *testing.T) {
	for name, tt := range map[string]struct {
		never bool
		code  int
		out   string
	}{"formed": {false, command.ExitOK, "recalled after"}, "never formed": {true, command.ExitFailed, "ingested after"}} {
		t.Run(name, func(t *testing.T) {
			f := &remembering{never: tt.never}
			var out, errOut bytes.Buffer
			code := cli.Execute(t.Context(), []string{"check", "gateway", "--url", f.serve(t), "--key", key, "--timeout", "5s"},
				&out, &errOut)
			if code != tt.code || !strings.Contains(out.String(), tt.out) {
				t.Errorf("exit code %d, printed %q and %q", code, out.String(), errOut.String())
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if got := strings.Join(f.calls, ", "); got != "turns, close, erase check" {
				t.Errorf("the gateway was asked for %s", got)
			}
		})
	}
}

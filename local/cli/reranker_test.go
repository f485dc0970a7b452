package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

// fakeReranker has two versions.
type fakeReranker struct {
	mnemev1connect.UnimplementedRerankerServiceHandler
}

func (fakeReranker) ListWeights(context.Context,
	*connect.Request[mnemev1.ListWeightsRequest]) (*connect.Response[mnemev1.ListWeightsResponse], error) {
	to := uint64(1)
	return connect.NewResponse(&mnemev1.ListWeightsResponse{
		Versions: []*mnemev1.WeightsVersion{
			{Version: 7, Time: timestamppb.Now(), Learned: 28, Distance: 0.125, RolledBackTo: &to},
			{Version: 6, Time: timestamppb.Now(), Learned: 24, Distance: 0.25}, {},
		},
		FeatureSet: "test/1", Features: []*mnemev1.FeatureWeight{{Name: "words\x1b[2J", Weight: 0.5, Prior: 0.25}},
	}), nil
}

func (fakeReranker) RollbackWeights(_ context.Context,
	req *connect.Request[mnemev1.RollbackWeightsRequest]) (*connect.Response[mnemev1.RollbackWeightsResponse], error) {
	if req.Msg.GetVersion() > 7 {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("version: is not kept"))
	}
	to := req.Msg.GetVersion()
	return connect.NewResponse(&mnemev1.RollbackWeightsResponse{Version: &mnemev1.WeightsVersion{Version: 8,
		RolledBackTo: &to}}), nil
}

func serveReranker(t *testing.T) string {
	t.Helper()
	path, handler := mnemev1connect.NewRerankerServiceHandler(fakeReranker{})
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestRerankerCommands(t *testing.T) {
	url := serveReranker(t)
	at := func(args ...string) []string { return append(args, "--url", url, "--key", key) }
	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"versions", at("reranker", "versions"), command.ExitOK,
			[]string{"rolled back to 1, in use", "STATE", "0.250", "start of every tenant", "test/1", "0.5000", "0.2500"}},
		{"a rollback", at("reranker", "rollback", "--to", "0"), command.ExitOK,
			[]string{"version 8 has the weights of version 0"}},
		{"a version that is not kept", at("reranker", "rollback", "--to", "9"), command.ExitUsage,
			[]string{"version: is not kept"}},
		{"no version", at("reranker", "rollback"), command.ExitUsage, []string{"--to is missing"}},
		{"less than no version", at("reranker", "rollback", "--to", "-1"), command.ExitUsage, []string{"--to"}},
		{"no command", at("reranker", "forget"), command.ExitUsage, []string{`"forget"`}},
		{"no key", []string{"reranker", "versions", "--url", url}, command.ExitUsage, []string{"needs --key"}},
		{"another key", []string{"reranker", "versions", "--url", url, "--key", "mneme_other"}, command.ExitUnreachable,
			[]string{"MNEME_API_KEY"}},
		{"nothing running", []string{"reranker", "versions"}, command.ExitUnreachable, []string{"mneme up"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errOut := run(t, tt.args...)
			if code != tt.code || strings.Contains(out, "\x1b") {
				t.Errorf("exit code %d, want %d: %s%s", code, tt.code, out, errOut)
			}
			for _, says := range tt.says {
				if !strings.Contains(out+errOut, says) {
					t.Errorf("says %q, want %q", out+errOut, says)
				}
			}
		})
	}
	_, out, _ := run(t, at("reranker", "versions", "--json")...)
	var listed struct {
		Versions []struct{ Version string }
	}
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Versions) != 3 ||
		listed.Versions[0].Version != "7" {
		t.Errorf("got %s, %v", out, err)
	}
}

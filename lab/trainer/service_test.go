package trainer_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/lab/trainer"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// A request with a misspelt field is refused. It would silently change the reward.
func TestFieldsThatThereAreNoneOfAreRefused(t *testing.T) {
	s := httptest.NewServer(trainer.Handler(lives(), slog.New(slog.DiscardHandler)))
	defer s.Close()
	for _, kind := range []string{"application/json", "application/json; charset=utf-8",
		"application/json;charset=UTF-8"} {
		for body, want := range map[string]int{
			`{"seed":1,"sessions":1,"strategy":"salimory","filter":"off"}`:       http.StatusOK,
			`{"seed":1,"sessions":1,"strategy":"salimory","filter":"off","x":1}`: http.StatusBadRequest,
		} {
			resp, err := s.Client().Post(s.URL+"/mneme.v1.EpisodeService/Begin", kind, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s of %s has status %d, want %d", body, kind, resp.StatusCode, want)
			}
		}
	}
}

// Programs of the product share an environment with the trainer, and must not warn about its settings.
func TestTheProductKnowsTheTrainersSettings(t *testing.T) {
	environ := map[string]string{}
	for _, row := range trainer.Service.Settings() {
		environ[row.Name] = "x"
	}
	if unknown := config.Unrecognized(environ, nil); len(environ) == 0 || len(unknown) > 0 {
		t.Errorf("of %d settings the product does not know %v: add them to laboratory in local/configdoc", len(environ),
			unknown)
	}
}

func TestTheServiceAsksForItsKey(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	listening, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- runner.Run(ctx, trainer.Service, runner.Options{
			Environ: map[string]string{"MNEME_HTTP_ADDR": "127.0.0.1:0", "MNEME_TRAINER_KEY": "a key of sixteen"},
			Stderr:  io.Discard, OnListen: func(a string) { listening <- a },
		})
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	var addr string
	select {
	case addr = <-listening:
	case err := <-ended:
		t.Fatal(err)
	}
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for ready := false; !ready; {
		resp, err := client.Get("http://" + addr + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		ready = resp.StatusCode == http.StatusOK
		_ = resp.Body.Close()
	}
	for key, want := range map[string]int{"": http.StatusUnauthorized, "another": http.StatusUnauthorized,
		"a key of sixteen": http.StatusOK} {
		body := strings.NewReader(`{"seed": 1, "sessions": 1, "strategy": "salimory"}`)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/mneme.v1.EpisodeService/Begin", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("with the key %q the status is %d, want %d", key, resp.StatusCode, want)
		}
	}
}

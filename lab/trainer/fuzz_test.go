package trainer_test

import (
	"bytes"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/lab/trainer"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
)

// FuzzEpisode decodes any bytes as an episode. They are refused, or they are an episode with a valid fork.
func FuzzEpisode(f *testing.F) {
	e := trainer.Episodes{Lives: lives()}
	res, err := e.Begin(f.Context(), connect.NewRequest(&mnemev1.BeginRequest{Seed: 1, Sessions: 1, Strategy: "rmm",
		Filter: "off"}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(res.Msg.GetEpisode())
	f.Add(res.Msg.GetEpisode()[:24])
	f.Add([]byte("mneme-episode-1 "))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := e.Fork(t.Context(), connect.NewRequest(&mnemev1.ForkRequest{Episode: data}))
		if err != nil {
			if field := fault.Field(err); field != "episode" {
				t.Errorf("refused for %q: %v", field, err)
			}
			return
		}
		fork := one.Msg.GetEpisodes()[0]
		two, err := e.Fork(t.Context(), connect.NewRequest(&mnemev1.ForkRequest{Episode: fork}))
		if err != nil || bytes.Equal(two.Msg.GetEpisodes()[0], fork) {
			t.Errorf("a fork is not forked: %v", err)
		}
	})
}

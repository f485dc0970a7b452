package fault_test

import (
	"context"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/test/harness"
)

// The booster dies (kill -9) right after the request for an erasure, and again during the erasure. The erasure still
// completes and removes no data of another user.
func TestAnErasureOutlivesTheDeathOfTheBooster(t *testing.T) {
	const tenant, user, other = tenantErase, "mara", "nils"
	sys := system(t)
	for _, u := range []string{user, other} {
		talk := harness.Conversation(u, harness.Lives(len(u)))
		sys.Publish(t, tenant, talk...)
		sys.PublishRaw(t, contract.TopicSessionEvents, []byte(tenant+"/"+u), []byte("\xff\xfe nothing that can be read"))
		sys.AwaitFormed(t, tenant, talk...)
		sys.AwaitDeadLetter(t, tenant+"/"+u, "SessionEvent")
	}
	before := sys.Snapshot(t, tenant, other)
	res, err := sys.Client(tenant).EraseUser(t.Context(), connect.NewRequest(&mnemev1.EraseUserRequest{UserId: user}))
	if err != nil {
		t.Fatal(err)
	}
	sys.Kill(t, harness.Booster)
	sys.Launch(t, harness.Booster)
	harness.Await(t, "the erasure is under way", func(ctx context.Context) (bool, error) {
		res, err := sys.Client(tenant).
			GetErasure(ctx, connect.NewRequest(&mnemev1.GetErasureRequest{UserId: user, ErasureId: res.Msg.GetErasureId()}))
		return err == nil && res.Msg.GetState() >= mnemev1.ErasureState_ERASURE_STATE_RUNNING, nil
	})
	sys.Kill(t, harness.Booster)
	sys.Launch(t, harness.Booster)
	sys.AwaitReady(t, harness.Booster)
	sys.AwaitErased(t, tenant, user, res.Msg.GetErasureId())
	harness.Await(t, "a scan finds nothing", func(context.Context) (bool, error) {
		return len(sys.Scan(t, tenant, user)) == 0, nil
	})
	if diff := harness.Diff(before, sys.Snapshot(t, tenant, other)); diff != "" {
		t.Errorf("another user's bank has changed:\n%s", diff)
	}
	if n := len(sys.DeadLetters(t, tenant+"/"+other)); n < 1 {
		t.Errorf("%d dead letters of another user wait, want the one", n)
	}
}

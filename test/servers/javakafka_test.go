//go:build realservers

package servers_test

import (
	"testing"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/test/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

func TestJavaKafkaKeepsMessagesAndCommitsOverKillAndStop(t *testing.T) {
	ctx := servertest.Context(t)
	k, err := servers.StartJavaKafka(ctx, servers.KafkaOptions{
		Options: process.Options{Dir: t.TempDir(), Log: t.Output()}, Partitions: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, k)
	addr := k.Addr()
	servertest.CreateTopic(ctx, t, addr, servertest.Topic)
	first := servertest.Values("a", 20)
	servertest.Produce(ctx, t, addr, first...)
	if err := k.Kill(); err != nil {
		t.Fatal(err)
	}
	servertest.MustEnd(ctx, t, k)
	if err := k.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	servertest.MustHaveEach(t, servertest.Consume(ctx, t, addr, len(first)), first)
	second := servertest.Values("b", 20)
	servertest.Produce(ctx, t, addr, second...)
	if err := k.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	servertest.MustHaveEach(t, servertest.Consume(ctx, t, addr, len(second)), second)
	if got := servertest.Partitions(ctx, t, addr, servertest.Topic); got != 3 {
		t.Errorf("%d partitions, want 3", got)
	}
}

package servers_test

import (
	"testing"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

func TestBrokerKeepsMessagesAndCommitsOverKillAndStop(t *testing.T) {
	ctx := servertest.Context(t)
	b, err := servers.StartBroker(ctx, servers.BrokerOptions{
		Options: process.Options{Dir: t.TempDir()}, Partitions: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, b)
	addr := b.Addr()
	servertest.CreateTopic(ctx, t, addr, servertest.Topic)

	first := servertest.Values("a", 20)
	servertest.Produce(ctx, t, addr, first...)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	servertest.MustEnd(ctx, t, b)
	if err := refused(addr); err != nil {
		t.Error(err)
	}
	if err := b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if b.Addr() != addr {
		t.Errorf("address %s, before %s", b.Addr(), addr)
	}
	servertest.MustHaveEach(t, servertest.Consume(ctx, t, addr, len(first)), first)

	second := servertest.Values("b", 20)
	servertest.Produce(ctx, t, addr, second...)
	if err := b.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	servertest.MustHaveEach(t, servertest.Consume(ctx, t, addr, len(second)), second)
	if got := servertest.Partitions(ctx, t, addr, servertest.Topic); got != 3 {
		t.Errorf("%d partitions, want 3", got)
	}
}

func TestBrokerKeepsAcknowledgedMessagesWhenItsProcessIsKilled(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	p := startParent(t, "broker", dir)
	servertest.CreateTopic(ctx, t, p.addr, servertest.Topic)
	want := servertest.Values("v", 50)
	servertest.Produce(ctx, t, p.addr, want...)
	p.kill()

	b, err := servers.StartBroker(ctx, servers.BrokerOptions{Options: process.Options{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, b)
	if b.Addr() != p.addr {
		t.Errorf("address %s, before %s", b.Addr(), p.addr)
	}
	servertest.MustHaveEach(t, servertest.Consume(ctx, t, b.Addr(), len(want)), want)
	servertest.CreateTopic(ctx, t, b.Addr(), "later")
	if got := servertest.Partitions(ctx, t, b.Addr(), "later"); got != 8 {
		t.Errorf("a topic added on a used directory has %d partitions, want 8", got)
	}
}

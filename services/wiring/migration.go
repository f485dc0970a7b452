package wiring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
)

// Migration creates the resources of services: topics, collections, and the namespace of workflows. It keeps existing
// resources, but it changes limits of topics, collections of an earlier version, and the namespace's retention. It
// may be repeated and run in parallel, while services run.
type Migration struct {
	Bus       Bus
	Workflows Workflows
	Bank      weaviate.Config
	Model     Model
	Embedding Embedding
}

// minRetention is the shortest retention that Temporal accepts.
const minRetention = 24 * time.Hour

// Topics creates Kafka's topics, and sets the limits of existing topics.
func (m Migration) Topics(ctx context.Context, clientID string) error {
	if err := m.Bus.EnsureTopics(ctx, clientID); err != nil {
		return err
	}
	return runner.Need("kafka", kafka.LimitTopics(ctx, m.Bus.Cluster(clientID), m.Bus.topics()...))
}

// Collections creates the bank's collections in Weaviate, and records their embedding.
func (m Migration) Collections(ctx context.Context, tel *telemetry.Telemetry) error {
	embedder, free, err := m.Embedding.Open(ctx, m.Model, tel)
	if err != nil {
		return err
	}
	_, closeBank, err := OpenBank(ctx, m.Bank, embedder, tel)
	if err != nil {
		return errors.Join(err, free())
	}
	return errors.Join(closeBank(), free())
}

// RegisterNamespace creates the namespace in Temporal if it does not exist. Temporal keeps the histories of ended
// workflows there for the retention.
func (m Migration) RegisterNamespace(ctx context.Context, retention time.Duration, tel *telemetry.Telemetry) error {
	if retention < minRetention {
		return fault.Terminal("retention", "is %s, want %s or more", retention, minRetention)
	}
	o, err := m.Workflows.options(tel)
	if err != nil {
		return err
	}
	c, err := client.NewNamespaceClient(o)
	if err != nil {
		return runner.Need("temporal", err)
	}
	defer c.Close()
	if err := registerNamespace(ctx, c, m.Workflows.Namespace, durationpb.New(retention)); err != nil {
		return runner.Need("temporal", fmt.Errorf("namespace %s: %w", m.Workflows.Namespace, err))
	}
	return nil
}

func registerNamespace(
	ctx context.Context, c client.NamespaceClient, name string, retention *durationpb.Duration,
) error {
	err := c.Register(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, Description: "Mneme: one workflow a user", WorkflowExecutionRetentionPeriod: retention,
	})
	if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); !exists {
		return err
	}
	have, err := c.Describe(ctx, name)
	if err != nil || have.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() == retention.AsDuration() {
		return err
	}
	return c.Update(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: name, Config: &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: retention},
	})
}

package wiring

import (
	"errors"

	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// OpenAttributionStore opens what an erasure waits for until decisions on dropped turns are gone, too: the group that keeps them.
func OpenAttributionStore(b *BusClient, group string) (erasure.Store, func() error, error) {
	cluster := b.bus.Cluster(b.name)
	offsets, err := kafka.NewOffsets(cluster, group, contract.TopicSalientTurns)
	if err != nil {
		return nil, nil, err
	}
	turns, err := kafka.NewLog(cluster, contract.TopicSalientTurns)
	if err != nil {
		return nil, nil, errors.Join(err, offsets.Close())
	}
	free := func() error { return errors.Join(turns.Close(), offsets.Close()) }
	return erasure.Attribution{Log: turns, Committed: offsets.Committed}, free, nil
}

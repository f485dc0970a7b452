package kafka

import (
	"github.com/segmentio/kafka-go/protocol"
)

// kafka-go does not support DeleteRecords, but its registry accepts further messages. The registration must come
// before any connection, so it is here and not at the use.
func init() { protocol.Register(&deleteRecordsRequest{}, &deleteRecordsResponse{}) }

// deleteRecordsRequest asks the leader of one partition to remove the records before an offset.
type deleteRecordsRequest struct {
	Topics    []deleteRecordsTopic `kafka:"min=v0,max=v1"`
	TimeoutMs int32                `kafka:"min=v0,max=v1"`
}

type deleteRecordsTopic struct {
	Name       string                   `kafka:"min=v0,max=v1"`
	Partitions []deleteRecordsPartition `kafka:"min=v0,max=v1"`
}

type deleteRecordsPartition struct {
	Index  int32 `kafka:"min=v0,max=v1"`
	Offset int64 `kafka:"min=v0,max=v1"`
}

// ApiKey implements protocol.Message.
//
//lint:ignore ST1003 the interface's name
func (*deleteRecordsRequest) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

// Broker implements protocol.BrokerMessage: the request goes to the leader of its first partition.
func (r *deleteRecordsRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	topic := r.Topics[0]
	for _, p := range cluster.Topics[topic.Name].Partitions {
		if p.ID == topic.Partitions[0].Index {
			return cluster.Brokers[p.Leader], nil
		}
	}
	return protocol.Broker{ID: -1}, protocol.ErrNoPartition
}

type deleteRecordsResponse struct {
	ThrottleTimeMs int32                        `kafka:"min=v0,max=v1"`
	Topics         []deleteRecordsTopicResponse `kafka:"min=v0,max=v1"`
}

type deleteRecordsTopicResponse struct {
	Name       string                           `kafka:"min=v0,max=v1"`
	Partitions []deleteRecordsPartitionResponse `kafka:"min=v0,max=v1"`
}

type deleteRecordsPartitionResponse struct {
	Index        int32 `kafka:"min=v0,max=v1"`
	LowWatermark int64 `kafka:"min=v0,max=v1"`
	ErrorCode    int16 `kafka:"min=v0,max=v1"`
}

// ApiKey implements protocol.Message.
//
//lint:ignore ST1003 the interface's name
func (*deleteRecordsResponse) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

var _ protocol.BrokerMessage = (*deleteRecordsRequest)(nil)

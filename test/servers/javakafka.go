package servers

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

const (
	nameJavaKafka     = "kafka"
	roleKafka         = "kafka"
	roleController    = "controller"
	defaultPartitions = 8
	// maxCopies is the highest number of replicas of a record.
	maxCopies = 3

	// copyPlugin is pinned like the jars it copies.
	copyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
)

// kafkaPom names the jars.
//
//go:embed kafka/pom.xml
var kafkaPom []byte

// urls matches the URLs in Maven's errors, which are removed because they reveal the source of the jars.
var urls = regexp.MustCompile(`https?://[^\s"']+`)

// KafkaOptions configure Apache Kafka.
type KafkaOptions struct {
	process.Options
	// Partitions is the number of partitions of topics that clients create by name; 0 means 8. An existing topic keeps
	// its number.
	Partitions int
}

func (o KafkaOptions) prepare() (KafkaOptions, error) {
	if o.Partitions < 0 {
		return o, fmt.Errorf("local broker: %d partitions", o.Partitions)
	}
	if o.Partitions == 0 {
		o.Partitions = defaultPartitions
	}
	var err error
	o.Options, err = o.Prepare()
	return o, err
}

// JavaKafka is a running Apache Kafka node, both broker and controller, single or in a cluster.
type JavaKafka struct{ *process.Server }

// StartJavaKafka starts Apache Kafka on the directory. It returns when Kafka answers, in about ten seconds. It needs
// java (17 or later). The very first call also needs mvn, which downloads the jars to the cache. If either is missing,
// the error is [process.ErrMissingTool].
func StartJavaKafka(ctx context.Context, o KafkaOptions) (*JavaKafka, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	k, err := getKafka(ctx, o)
	if err != nil {
		return nil, err
	}
	return k.start(ctx, o.Options)
}

// StartKafkaCluster starts the nodes of a cluster, each in a separate folder below the directory. It has the
// requirements of [StartJavaKafka]. By default, a topic has a replica on every node, up to three, and all but one
// must acknowledge a write.
func StartKafkaCluster(ctx context.Context, o KafkaOptions, count int) ([]*JavaKafka, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	nodes, err := placeNodes(o.Options, nameJavaKafka, count, roleKafka, roleController)
	if err != nil {
		return nil, err
	}
	k, err := getKafka(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		k.nodes = append(k.nodes, n.ports)
	}
	return startNodes(nodes, func(i int, n node) (*JavaKafka, error) {
		k := k
		k.number = i + 1
		return k.start(ctx, n.Options)
	})
}

// getKafka finds the programs of Kafka, and creates the id of a cluster.
func getKafka(ctx context.Context, o KafkaOptions) (k kafkaHome, err error) {
	if k.java, err = process.FindTool("java", "install a Java runtime, version 17 or later"); err != nil {
		return k, err
	}
	jars, err := kafkaJars(ctx, o.Log)
	if err != nil {
		return k, err
	}
	k.classPath, k.partitions, k.number = filepath.Join(jars, "*"), o.Partitions, 1
	k.cluster, err = clusterID()
	return k, err
}

// start runs a node.
func (k kafkaHome) start(ctx context.Context, o process.Options) (*JavaKafka, error) {
	k.dir = filepath.Join(o.Dir, nameJavaKafka)
	s, err := process.StartChild(ctx, nameJavaKafka, o, process.Spec{
		Roles:   []string{roleKafka, roleController},
		Prepare: k.prepare,
		Command: func(process.Ports) process.Command {
			return process.Command{Path: k.java, Dir: k.dir, Args: k.args("-Xms256m", "-Xmx512m", "kafka.Kafka", k.config())}
		},
		Ready: func(ctx context.Context, p process.Ports) error { return brokerAnswers(ctx, p.Addr(roleKafka)) },
	})
	if err != nil {
		return nil, err
	}
	return &JavaKafka{s}, nil
}

// Addr is the host:port of the broker.
func (k *JavaKafka) Addr() string { return k.AddrOf(roleKafka) }

// kafkaHome is the folder of one Kafka with its programs.
type kafkaHome struct {
	java, classPath, dir string
	partitions           int
	cluster              string          // id of the cluster
	number               int             // number of the node, from 1
	nodes                []process.Ports // ports of the cluster; nil for a single node
}

func (k kafkaHome) config() string { return filepath.Join(k.dir, "server.properties") }

func (k kafkaHome) data() string { return filepath.Join(k.dir, "data") }

// args puts the class path and quiet logging before the arguments.
func (k kafkaHome) args(args ...string) []string {
	return append([]string{"-cp", k.classPath, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"}, args...)
}

// prepare writes the configuration and, on a new directory, formats the storage.
func (k kafkaHome) prepare(ctx context.Context, p process.Ports) error {
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return fmt.Errorf("prepare kafka: %w", err)
	}
	if err := os.WriteFile(k.config(), k.properties(p), 0o644); err != nil {
		return fmt.Errorf("prepare kafka: %w", err)
	}
	if exists(filepath.Join(k.data(), "meta.properties")) {
		return nil
	}
	format := k.args("kafka.tools.StorageTool", "format", "-t", k.cluster, "-c", k.config())
	out, err := exec.CommandContext(ctx, k.java, format...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format kafka storage: %w\n%s", err, process.LastLines(out))
	}
	return nil
}

// properties is the configuration of one node. Groups form at once.
func (k kafkaHome) properties(p process.Ports) []byte {
	var out bytes.Buffer
	nodes := k.nodes
	if nodes == nil {
		nodes = []process.Ports{p}
	}
	var voters []string
	for i, n := range nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, n.Addr(roleController)))
	}
	copies := min(len(nodes), maxCopies)
	replicas, inSync := strconv.Itoa(copies), strconv.Itoa(max(copies-1, 1))
	for _, setting := range [][2]string{
		{"process.roles", "broker,controller"},
		{"node.id", strconv.Itoa(k.number)},
		{"controller.quorum.voters", strings.Join(voters, ",")},
		{"listeners", "PLAINTEXT://" + p.Addr(roleKafka) + ",CONTROLLER://" + p.Addr(roleController)},
		{"advertised.listeners", "PLAINTEXT://" + p.Addr(roleKafka) + ",CONTROLLER://" + p.Addr(roleController)},
		{"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"},
		{"controller.listener.names", "CONTROLLER"},
		{"inter.broker.listener.name", "PLAINTEXT"},
		{"log.dirs", k.data()},
		{"num.partitions", strconv.Itoa(k.partitions)},
		{"auto.create.topics.enable", "true"},
		{"default.replication.factor", replicas},
		{"offsets.topic.replication.factor", replicas},
		{"min.insync.replicas", inSync},
		{"offsets.topic.num.partitions", "4"},
		{"transaction.state.log.replication.factor", replicas},
		{"transaction.state.log.min.isr", inSync},
		{"share.coordinator.state.topic.replication.factor", replicas},
		{"share.coordinator.state.topic.min.isr", inSync},
		{"group.initial.rebalance.delay.ms", "0"},
	} {
		fmt.Fprintf(&out, "%s=%s\n", setting[0], setting[1])
	}
	return out.Bytes()
}

// clusterID returns a random UUID in Kafka's notation. It must not begin like a command line flag.
func clusterID() (string, error) {
	raw := make([]byte, 16)
	for {
		if _, err := rand.Read(raw); err != nil {
			return "", err
		}
		if id := base64.RawURLEncoding.EncodeToString(raw); id[0] != '-' {
			return id, nil
		}
	}
}

// brokerAnswers returns nil when the broker has registered with the cluster.
func brokerAnswers(ctx context.Context, addr string) error {
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(addr), Transport: transport}
	answer, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return err
	}
	if len(answer.Brokers) == 0 {
		return errors.New("no broker registered")
	}
	return nil
}

// kafkaJars returns the cached directory with Kafka's jars. If it is missing, kafkaJars fills it first.
func kafkaJars(ctx context.Context, progress io.Writer) (string, error) {
	sum := sha256.Sum256(kafkaPom)
	jars, err := servers.Cached(ctx, filepath.Join(nameJavaKafka, hex.EncodeToString(sum[:6])), func(path string) error {
		return copyJars(ctx, progress, path)
	})
	if err != nil {
		return "", fmt.Errorf("get kafka: %w", err)
	}
	return jars, nil
}

// copyJars resolves and copies the jars with Maven. The directory appears only when it is complete.
func copyJars(ctx context.Context, progress io.Writer, jars string) error {
	mvn, err := process.FindTool("mvn", "install Maven to fetch Apache Kafka")
	if err != nil {
		return err
	}
	partial := jars + ".partial"
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(partial, 0o755)); err != nil {
		return err
	}
	pom := filepath.Join(partial, "pom.xml")
	if err := os.WriteFile(pom, kafkaPom, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-f", pom, copyPlugin,
		"-DincludeScope=runtime", "-DoutputDirectory="+partial)
	done := servers.ReportProgress(progress, "fetching Apache Kafka", "takes a minute the first time", nil)
	out, err := cmd.CombinedOutput()
	done(err)
	if err != nil {
		return fmt.Errorf("mvn: %w\n%s", err, urls.ReplaceAllString(process.LastLines(out), "<repository>"))
	}
	return os.Rename(partial, jars)
}

package servers

import (
	"regexp"

	"github.com/mneme-memory/mneme/local/process"
)

// everywhere is Weaviate's code for listen addresses that have no setting. Its gRPC port returns memories, and its
// cluster data port even deletes them, both without a key.
var everywhere = regexp.QuoteMeta(`fmt.Sprintf(":%d"`)

const onLoopback = `fmt.Sprintf("` + process.Loopback + `:%d"`

// restConfig is the file in which Weaviate registers its modules.
const restConfig = "adapters/handlers/rest/configure_api.go"

// weaviateChanges binds all of Weaviate's ports to loopback. It leaves out the modules that call models and clouds.
// Backups to a folder stay, because tests restore from them.
func weaviateChanges() []change {
	return []change{{module: "github.com/weaviate/weaviate", edits: []edit{
		{"adapters/handlers/grpc/server.go", everywhere, onLoopback},
		{"adapters/handlers/rest/clusterapi/grpc/server.go", everywhere, onLoopback},
		{"adapters/handlers/rest/clusterapi/serve.go", everywhere, onLoopback},
		{restConfig, everywhere, onLoopback},

		{restConfig, `\tmod\w+ "github.com/weaviate/weaviate/modules/(?:backup-[ags]|[^b])[^"]*"\n`, ""},
		{restConfig, `(?s)func registerModules\(.*?\n}\n`, `func registerModules(appState *state.State) error {
	appState.Modules = modules.NewProvider(appState.Logger, appState.ServerConfig.Config)
	appState.Modules.Register(modstgfs.New())
	return nil
}
`},
		{restConfig, `(?s)func postInitModules\(.*?\n}\n`, "func postInitModules(*state.State) {}\n"},
		{restConfig, `\t"github.com/weaviate/weaviate/(?:cluster/usage|entities/modulecapabilities)"\n`, ""},
		{"usecases/schema/tenant.go", `\tmodsloads3 "[^"]*"\n`, ""},
		{"usecases/schema/tenant.go", `modsloads3\.Name`, `"offload-s3"`},
	}}}
}

// temporalChanges leaves out the start of workers in clouds and Kubernetes, and the archives in S3 and Google Cloud.
func temporalChanges() []change {
	const provider = "common/archiver/provider/provider.go"
	return []change{
		{module: "go.temporal.io/server", edits: []edit{
			{provider, `\t"go\.temporal\.io/server/common/archiver/(?:gcloud|s3store)"\n`, ""},
			{provider, `(?s)\t\tcase (?:gcloud|s3store)\.URIScheme:.*?\n\t\tdefault:`, "\t\tdefault:"},
		}},
		{module: "go.temporal.io/auto-scaled-workers", without: []string{
			"wci/workflow/compute_provider/aws*.go", "wci/workflow/compute_provider/gcp*.go",
			"wci/workflow/compute_provider/k8s.go",
		}},
	}
}

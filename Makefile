# Mneme. `make demo` shows the main job and `make test` runs the tests. `make help` lists all targets.
SHELL := /bin/bash
GO ?= go
BIN := bin
CACHE := .cache
TOOLS := $(CACHE)/tools
SERVICES := saliency-filter booster utilizer reranker gateway
# The race detector needs a C compiler. Without one the tests run without the detector and print a notice.
RACE := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)
# The version of a tagged commit, or of a commit after a tag. Before the first tag, the chart's version and the commit.
VERSION ?= $(or $(patsubst v%,%,$(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null)),$(shell sed -n 's/^version: //p' charts/mneme/Chart.yaml)-dev+$(or $(shell git rev-parse --short=12 HEAD 2>/dev/null),unknown))
STAMP := -X github.com/mneme-memory/mneme/shared/platform/runner.version=$(VERSION)
# All builds use the flags of the images' binaries, so that binaries, tests, vet and tools share one cache. Only the race
# detector needs cgo.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath)
BUILD := $(GO) build -ldflags="$(STAMP)"
# The test runner. .ci/run replaces it by a runner that prints summaries.
GOTEST ?= $(GO) test
TESTFLAGS ?=

# Pinned tools, built into .cache/tools when a target needs them.
BUF := github.com/bufbuild/buf/cmd/buf@v1.66.1
PROTOC_GEN_GO := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_CONNECT := connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.0
WORKFLOWCHECK := go.temporal.io/sdk/contrib/tools/workflowcheck@v0.5.0
REVIVE := github.com/mgechev/revive@v1.12.0
GOTESTSUM := gotest.tools/gotestsum@v1.13.0
KUBECTL_VALIDATE := sigs.k8s.io/kubectl-validate@v0.0.4
KUSTOMIZE := sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
KUBE_SCORE := github.com/zegl/kube-score/cmd/kube-score@v1.20.0
KO := github.com/google/ko@v0.19.1
CRANE := github.com/google/go-containerregistry/cmd/crane@v0.22.1
CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
# Later versions need a module that the module proxy lacks.
VALE := github.com/vale-cli/vale/v3/cmd/vale@v3.22.0
HELM_DOCS := github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/:/' | column -t -s:

.PHONY: demo
demo: $(BIN)/mneme ## run all of Mneme once on embedded servers, and stop
	@$(BIN)/mneme demo

.PHONY: up
up: $(BIN)/mneme ## run everything on this machine until interrupted
	@$(BIN)/mneme up

.PHONY: lab
lab: ## build bin/mneme-lab, which trains models and repeats experiments
	@echo "building $(BIN)/mneme-lab"
	@$(BUILD) -o $(BIN)/mneme-lab ./lab/cmd/mneme-lab

.PHONY: build
build: $(BIN)/mneme $(addprefix $(BIN)/,$(SERVICES)) ## build all binaries into bin/

.PHONY: $(BIN)/mneme
$(BIN)/mneme:
	@all=$$($(GO) list -deps ./cmd/mneme | wc -l); echo "building $@ $(VERSION) ($$all packages; usually takes 2 minutes the first time, seconds later)"; \
	  set -o pipefail; $(BUILD) -v -o $@ ./cmd/mneme 2>&1 | awk -v all=$$all 'NF == 1 && !/:$$/ {if (++n % 50 == 0) print "building $@: package " n " of at most " all; fflush(); next} {print}'

.PHONY: version
version: ## print the version that this checkout builds
	@echo $(VERSION)

.PHONY: $(addprefix $(BIN)/,$(SERVICES))
$(addprefix $(BIN)/,$(SERVICES)): $(BIN)/%:
	@echo "building $@"
	@$(BUILD) -o $@ ./services/$(subst -,,$*)/cmd/$*

.PHONY: servers
servers: ## build the real Weaviate and Temporal for local runs and tests
	@$(GO) run ./local/servers/cmd/build

# Packages with goroutines are tested with the race detector. test/layers compares their list with the code. `make lint`
# vets the tests.
TEST := -vet=off -timeout 20m
RACED = $(call slow_first,$(addprefix ./,$(filter-out lab/%,$(shell cat test/layers/raced.txt))))
REST = $(call slow_first,$(filter-out $(RACED),$(shell $(GO) list -f '.{{slice .ImportPath (len .Module.Path)}}' ./...)))
# Packages with long waits start first, the longest before the others, in parallel with packages that compute.
SLOW := ./test/fault ./shared/store/bank/weaviate ./test/erasure ./test/e2e ./local/servers ./test/servers ./workflows/consolidation
slow_first = $(foreach p,$(SLOW),$(filter $(p),$(1))) $(filter-out $(SLOW),$(1))

.PHONY: test
test: servers ## test the product on embedded servers
	@[ -n "$(RACE)" ] || echo "no C compiler found: testing without the race detector"
	@$(MAKE) -j2 --no-print-directory test-raced test-rest

.PHONY: test-raced
test-raced:
	CGO_ENABLED=$(if $(RACE),1,0) $(GOTEST) $(RACE) $(TEST) $(TESTFLAGS) $(RACED)

# Tests of the whole system that do much at once. `make test` runs all tests of test/e2e without the race detector.
RACED_E2E := AtOnce|ArrivesAgain|TakesItsPlace|GoesTheWholeWay|PolicyRemembers|HadToDoWithout|AreKeyedBy

.PHONY: test-raced-e2e
test-raced-e2e: servers ## run the concurrent tests of the whole system with the race detector
	CGO_ENABLED=$(if $(RACE),1,0) $(GOTEST) $(RACE) $(TEST) -run '$(RACED_E2E)' $(TESTFLAGS) ./test/e2e

.PHONY: test-rest
test-rest:
	$(GOTEST) $(TEST) $(TESTFLAGS) $(REST)

LAB = $(filter-out $(LAB_RACED),$(addprefix ./lab/,$(shell $(GO) list -f '{{with slice .ImportPath (len .Module.Path)}}{{slice . 1}}{{end}}' ./lab/...)))
LAB_RACED = $(addprefix ./,$(filter lab/%,$(shell cat test/layers/raced.txt)))

.PHONY: test-lab
test-lab: servers ## test the laboratory (trains models and policies at test sizes, and repeats experiments)
	@$(MAKE) -j2 --no-print-directory test-lab-raced test-lab-rest

.PHONY: test-lab-raced
test-lab-raced:
	CGO_ENABLED=$(if $(RACE),1,0) $(GOTEST) $(RACE) $(TEST) $(TESTFLAGS) $(LAB_RACED)

.PHONY: test-lab-rest
test-lab-rest:
	$(GOTEST) $(TEST) $(TESTFLAGS) $(LAB)

.PHONY: test-real
test-real: ## run the suites against the real Apache Kafka (Java, Maven) and redis-server
	$(GOTEST) -vet=off -tags realservers -timeout 20m $(TESTFLAGS) ./shared/bus/kafka/... ./shared/store/window/redis/... ./shared/store/weights/redis/... ./shared/store/directory/redis/... ./lab/checkpoint/redis/... ./services/gateway/quota/... ./shared/store/idempotency/... ./shared/store/items/... ./shared/store/webhooks/... ./shared/store/mem0state/... ./shared/store/decisions/... ./shared/store/records/... ./local/servers/... ./test/servers/...

.PHONY: test-clients
test-clients: servers ## run mem0's clients, MCP clients, an API tester, and the frameworks of integrations/ (Python, Node)
	$(GOTEST) -vet=off -tags realclients -timeout 30m $(TESTFLAGS) ./test/clients/

.PHONY: test-chart
test-chart: $(TOOLS)/kubectl-validate $(TOOLS)/kube-score $(TOOLS)/kustomize $(TOOLS)/helm-unittest ## render the Helm chart with every set of values, check the result, run it without a cluster, and test dashboards and alerts (builds Helm and promtool once)
	@$(GO) run ./local/servers/cmd/build weaviate temporal helm helm3 promtool promql
	$(TOOLS)/helm-unittest charts/mneme
	$(GOTEST) -vet=off -tags chart -timeout 20m $(TESTFLAGS) ./test/chart/ ./test/alerts/ ./local/kustomize/

.PHONY: test-k8s
test-k8s: ## install the Helm chart with every set of values on a real Kubernetes API, drain, upgrade, roll back, uninstall (builds a control plane once)
	@$(GO) run ./local/servers/cmd/build helm helm3 controlplane
	$(GOTEST) -vet=off -tags chart,k8s -count=1 -timeout 20m -run '^TestKubernetes$$' $(TESTFLAGS) ./test/chart/

TRL := $(CACHE)/trl

$(TRL): integrations/trl/requirements.txt
	python3 -m venv --clear $@
	$@/bin/pip install -q --no-deps -r $<
	touch $@

.PHONY: test-trl
test-trl: $(TRL) ## run TRL's GRPO, and veRL's reward function, against the trainer (Python 3; downloads about 2 GB, takes 6 GB the first time)
	$(GO) build -o $(BIN)/trainer ./lab/cmd/trainer
	integrations/trl/run.sh $(CURDIR)/$(TRL)/bin/python $(CURDIR)/$(BIN)/trainer

.PHONY: test-images
test-images: ## build the contents of the images and run them alone in a root folder, as the images' user; check that two builds are equal
	$(GOTEST) -vet=off -tags images -count=1 -timeout 30m $(TESTFLAGS) ./test/images

.PHONY: test-reproducible
test-reproducible: $(TOOLS)/ko $(TOOLS)/crane ## build all binaries twice, the second time in another folder with an empty Go cache, and all images twice with ko; check that both builds are equal
	MNEME_TEST_FRESH=1 $(GOTEST) -vet=off -tags images,ko -count=1 -timeout 30m -run '^Test(Binaries|Images)AreReproducible$$' $(TESTFLAGS) ./test/images

MAINS := ./cmd/mneme ./services/gateway/cmd/gateway ./services/utilizer/cmd/utilizer ./services/reranker/cmd/reranker \
	./services/saliencyfilter/cmd/saliency-filter ./services/booster/cmd/booster
# Licences that libraries in the binaries may have. Two modules are checked by hand. freetype offers two licences, and
# the FreeType License is chosen. nexus-proto-annotations, part of Temporal's API, states no licence.
ALLOWED_LICENSES := Apache-2.0,BSD-2-Clause,BSD-3-Clause,BSL-1.0,CC-BY-4.0,ISC,MIT,MPL-2.0,Unlicense
GO_LICENSES = GOWORK=off CGO_ENABLED=0 $(TOOLS)/go-licenses
OWN := --ignore github.com/mneme-memory/mneme

.PHONY: licenses
licenses: $(TOOLS)/go-licenses ## write bin/THIRD_PARTY_LICENSES, the licences of the libraries in the binaries, which the Dockerfile's images contain; fail if a licence is not allowed
	@mkdir -p $(BIN)
	$(GO_LICENSES) check $(MAINS) $(OWN) --ignore github.com/golang/freetype --ignore github.com/nexus-rpc/nexus-proto-annotations --allowed_licenses $(ALLOWED_LICENSES) 2>$(BIN)/licenses.log || { grep -vE '^([IW][0-9]|/)' $(BIN)/licenses.log; exit 1; }
	$(GO_LICENSES) report $(MAINS) $(OWN) --template deploy/embedded/tools/licenses.tmpl >$(BIN)/THIRD_PARTY_LICENSES 2>$(BIN)/licenses.log || { grep -vE '^([IW][0-9]|/)' $(BIN)/licenses.log; exit 1; }
	@printf '\n%080d\nThe Go standard library and runtime: BSD-3-Clause\n\n' 0 | tr 0 = >>$(BIN)/THIRD_PARTY_LICENSES; cat "$$($(GO) env GOROOT)/LICENSE" >>$(BIN)/THIRD_PARTY_LICENSES
	@n=$$(grep -c '^=====' $(BIN)/THIRD_PARTY_LICENSES); echo "$(BIN)/THIRD_PARTY_LICENSES: $$n libraries"; [ "$$n" -gt 1 ] || { echo "go-licenses found no library"; exit 1; }

# The modules of a binary. A replaced module has the name of its replacement.
MODULES = $(GO) version -m $(BIN)/$$b | awk '$$1 == "dep" {if (m) print m; m = $$2 "@" $$3} $$1 == "=>" {m = $$2 "@" $$3} END {print m}'

.PHONY: sbom
sbom: build $(TOOLS)/cyclonedx-gomod ## write bin/*.cdx.json, the modules of each binary (CycloneDX); fail if the file lacks a module of the binary
	@set -e; for b in mneme $(SERVICES); do \
	  $(TOOLS)/cyclonedx-gomod bin -json -std -output $(BIN)/$$b.cdx.json $(BIN)/$$b 2>$(BIN)/sbom.log || { cat $(BIN)/sbom.log; exit 1; }; \
	  missing=$$($(MODULES) | while read -r m; do grep -qF "\"pkg:golang/$$m?" $(BIN)/$$b.cdx.json || echo "$$m"; done); \
	  [ -z "$$missing" ] || { echo "$(BIN)/$$b.cdx.json does not name" $$missing; exit 1; }; \
	  echo "$(BIN)/$$b.cdx.json: $$($(MODULES) | wc -l) modules"; done

# The Go vulnerability database as a module, because some networks cannot reach its server. VULNERABILITIES=URL sets
# another source.
VULNDB := golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018
VULNERABILITIES ?= file://$(shell GOWORK=off $(GO) mod download -json $(VULNDB) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')/data/osv

# The check covers the images' Go version, not this machine's. Two entries concern Weaviate's server and name none of its
# functions. The binaries contain only the types of its API.
IMAGE_GO = $(shell sed -n 's/^FROM golang:\([0-9.]*\) .*/go\1/p' Dockerfile)
NOT_CALLED := GO-2025-4237|GO-2026-6140

.PHONY: vulnerabilities
vulnerabilities: $(TOOLS)/govulncheck ## look for known vulnerabilities in code that the binaries call, built with the images' Go
	@mkdir -p $(BIN)
	@echo "looking in $(VULNERABILITIES): what became known later is not found, unless VULNDB or VULNERABILITIES names a later one"
	@echo "the standard library is looked at as $(IMAGE_GO), which images are built with; this machine has $$($(GO) env GOVERSION)"
	@GOWORK=off GOVERSION=$(IMAGE_GO) $(TOOLS)/govulncheck -db $(VULNERABILITIES) $(MAINS) >$(BIN)/vulnerabilities.txt 2>&1; code=$$?; \
	  found=$$(sed -nE 's/^Vulnerability #[0-9]+: (GO-[0-9]+-[0-9]+)$$/\1/p' $(BIN)/vulnerabilities.txt | grep -vxE '$(NOT_CALLED)'); \
	  if [ -n "$$found" ] || { [ $$code != 0 ] && [ $$code != 3 ]; }; then cat $(BIN)/vulnerabilities.txt; echo "exit code $$code:" $$found; exit 1; fi; \
	  grep -A4 '^Your code\|^No vuln' $(BIN)/vulnerabilities.txt; echo "none but those of $(NOT_CALLED)"
.PHONY: test-cluster
test-cluster: servers ## kill nodes of replicated stores and replace replicas of services during traffic, and print the effects on clients (Java, Maven, redis-server, PostgreSQL)
	@$(GO) run ./local/servers/cmd/build temporal-server temporal-sql-tool
	$(GOTEST) -vet=off -tags cluster -count=1 -v -timeout 60m $(TESTFLAGS) ./test/cluster/

.PHONY: fuzz
fuzz: ## run every fuzz target for a while
	@set -e; for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -rhoE '^func (Fuzz[A-Za-z0-9_]+)' $$pkg/*_test.go | awk '{print $$2}'); do \
	    echo "$$pkg $$target"; $(GO) test $$pkg -run '^$$' -fuzz "^$$target$$" -fuzztime $${FUZZTIME:-10s} -fuzzminimizetime 20x | tail -1; done; done

.PHONY: bench
bench: servers ## measure the speed and its baselines, and print a table
	@$(GO) run ./test/bench/cmd/bench

# Texts that other files generate.
GENERATED := \.pb\.go$$|\.connect\.go$$|^docs/configuration\.md$$|^charts/mneme/README\.md$$

.PHONY: prose
prose: $(TOOLS)/vale ## check the English of documents and Go comments
	@set -o pipefail; git ls-files '*.md' '*.go' | grep -vE '$(GENERATED)' | xargs $(TOOLS)/vale --no-exit --minAlertLevel=suggestion --output=JSON | $(GO) run ./test/prose

.PHONY: lint
lint: prose $(TOOLS)/staticcheck $(TOOLS)/revive $(TOOLS)/workflowcheck $(TOOLS)/buf ## check English, form, common mistakes, determinism and contracts
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet -tags realservers,realclients,chart,images,ko,cluster,k8s ./... ./lab/...
	$(TOOLS)/staticcheck ./... ./lab/...
	$(TOOLS)/revive -config revive.toml ./... ./lab/...
	$(TOOLS)/workflowcheck ./workflows/consolidation ./workflows/erasure ./lab/distributed
	$(TOOLS)/buf lint
	$(TOOLS)/buf breaking --against proto/released.binpb

.PHONY: generate
generate: $(TOOLS)/buf $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-connect-go $(TOOLS)/helm-docs ## write the generated code and documents
	PATH="$(CURDIR)/$(TOOLS):$$PATH" $(TOOLS)/buf generate
	$(GO) run ./local/configdoc > docs/configuration.md
	$(GO) run ./local/configdoc chart > charts/mneme/files/settings.yaml
	$(GO) run ./local/configdoc names > names.tmp && mv names.tmp shared/platform/config/settings.txt
	$(TOOLS)/helm-docs --chart-search-root charts --log-level warning
	$(GO) run ./local/kustomize . deploy/k8s

PYTHON = $(CACHE)/python

$(PYTHON): shared/model/wordvector/requirements.txt
	python3 -m venv $@
	$@/bin/pip install -q --no-deps -r $<
	touch $@

.PHONY: word-vectors
word-vectors: $(PYTHON) ## distil the word and sentence vectors (Python 3; downloads about 250 MB, takes half an hour)
	$(PYTHON)/bin/python shared/model/wordvector/distill_words.py shared/model/wordvector/vectors.bin
	$(GO) run ./lab/cmd/mneme-lab train texts > $(PYTHON)/texts.jsonl
	$(PYTHON)/bin/python shared/model/wordvector/distill_sentences.py \
		$(PYTHON)/texts.jsonl shared/model/wordvector/vectors.bin shared/model/wordvector/sentences.bin

CROSSENCODER = shared/formation/relation/crossencoder

.PHONY: cross-encoder
cross-encoder: $(PYTHON) ## train the encoders of relations (Python 3; downloads about 250 MB, takes four hours)
	$(GO) run ./lab/cmd/mneme-lab train statements > $(PYTHON)/statements.jsonl
	PYTHONPATH=shared/model/wordvector $(PYTHON)/bin/python $(CROSSENCODER)/train.py \
		$(PYTHON)/statements.jsonl $(CROSSENCODER)/model.onnx
	$(GO) run ./lab/cmd/mneme-lab train judge --out $(CROSSENCODER)/choice.json

.PHONY: reader
reader: $(PYTHON) ## train the reader of turns (Python 3; downloads about 250 MB, takes an hour; resumes where it stopped)
	PYTHONPATH=shared/model/wordvector $(PYTHON)/bin/python lab/reader/train.py shared/formation/reader/model.onnx \
		lab/corpus/notes/*.jsonl --statements lab/corpus/banks/*.jsonl --weights $(PYTHON)/reader.npz

.PHONY: histories
histories: servers ## record the histories that the workflows' replay tests use
	$(GO) run ./test/histories
	$(GO) run ./lab/cmd/histories

.PHONY: clean
clean: ## remove binaries and caches
	rm -rf $(BIN) $(CACHE)

$(TOOLS)/buf:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(BUF)
$(TOOLS)/protoc-gen-go:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(PROTOC_GEN_GO)
$(TOOLS)/protoc-gen-connect-go:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(PROTOC_GEN_CONNECT)
$(TOOLS)/staticcheck:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(STATICCHECK)
$(TOOLS)/revive:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(REVIVE)
$(TOOLS)/vale:
	GOWORK=off CGO_ENABLED=1 GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(VALE)
$(TOOLS)/workflowcheck:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(WORKFLOWCHECK)
$(TOOLS)/gotestsum:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(GOTESTSUM)
$(TOOLS)/helm-docs:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(HELM_DOCS)
$(TOOLS)/kubectl-validate:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(KUBECTL_VALIDATE)
$(TOOLS)/kustomize:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(KUSTOMIZE)
$(TOOLS)/kube-score:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(KUBE_SCORE)
$(TOOLS)/govulncheck:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(GOVULNCHECK)
$(TOOLS)/ko:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(KO)
$(TOOLS)/crane:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(CRANE)
$(TOOLS)/cyclonedx-gomod:
	GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(CYCLONEDX)
# go-licenses finds no library if its own build trims paths.
$(TOOLS)/go-licenses: deploy/embedded/tools/go.mod
	cd deploy/embedded/tools && GOWORK=off GOFLAGS= $(GO) build -o $(CURDIR)/$@ github.com/google/go-licenses/v2
$(TOOLS)/helm-unittest: deploy/embedded/tools/go.mod
	cd deploy/embedded/tools && GOWORK=off $(GO) build -o $(CURDIR)/$@ github.com/helm-unittest/helm-unittest/cmd/helm-unittest

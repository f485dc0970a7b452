# Mneme. `make demo` shows the main job, `make test` passes the tests; the rest is for going on.
SHELL := /bin/bash
GO ?= go
BIN := bin
SERVICES := saliency-filter booster utilizer reranker

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/:/' | column -t -s:

.PHONY: demo
demo: $(BIN)/mneme ## run the whole way once on embedded servers, and stop
	@$(BIN)/mneme demo

.PHONY: up
up: $(BIN)/mneme ## run everything on this machine until interrupted
	@$(BIN)/mneme up

.PHONY: build
build: $(BIN)/mneme $(addprefix $(BIN)/,$(SERVICES)) ## build all binaries into bin/

.PHONY: $(BIN)/mneme
$(BIN)/mneme:
	@echo "building $@ (the first time takes minutes)"
	@$(GO) build -o $@ ./services/mneme/cmd/mneme

.PHONY: $(addprefix $(BIN)/,$(SERVICES))
$(addprefix $(BIN)/,$(SERVICES)): $(BIN)/%:
	@echo "building $@"
	@$(GO) build -o $@ ./services/$(subst -,,$*)/cmd/$*

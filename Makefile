# The two that matter: `make run` serves the quickstart example, `make test` runs all tests. Both need Go alone.

SHELL := /bin/sh
GO    ?= go

# Plugins that the binary carries.
PLUGINS  := docs file
# What builds can use again. It is private to the user: who can write there can put code into the program.
CACHE    := $(CURDIR)/.cache
EMBED    := cmd/reshost/internal/builtin/wasm
BUILDER  := $(GO) run ./cmd/reshost/internal/pluginbuild/buildplugins
TOOL     := $(GO) tool -modfile=.ci/tools.mod
# One target an operating system, as the continuous build vets; `make cross` has them all.
TARGETS  := linux/amd64 darwin/arm64 windows/amd64
CROSS    := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64
FUZZTIME ?= 20s
TESTFLAGS ?=

.DEFAULT_GOAL := build

.PHONY: build
build: bin/reshost ## build bin/reshost with its plugins

.PHONY: bin/reshost
bin/reshost: plugins
	$(GO) build -trimpath -buildvcs=auto -o $@ ./cmd/reshost

.PHONY: plugins
plugins: ## build the plugins that the binary carries, and those of examples
	@mkdir -p $(CACHE)
	$(BUILDER) -cache $(CACHE) -embed $(EMBED) $(PLUGINS:%=./plugins/%)
	$(BUILDER) -cache $(CACHE) -plain examples/conformance ./examples/conformance
	$(BUILDER) -cache $(CACHE) -plain examples/ask ./examples/ask

.PHONY: run
run: build ## serve examples/quickstart at http://127.0.0.1:8642/mcp
	@exec bin/reshost serve --config examples/quickstart/reshost.yaml

.PHONY: test
test: plugins ## run all tests
	$(GO) test $(TESTFLAGS) ./...

.PHONY: race
race: ## run the tests that have locks and pools with the race detector
	$(GO) test -race -short $(TESTFLAGS) ./...

.PHONY: bench-peers
bench-peers: ## measure reads beside the official Go SDK's server (needs wrk; two minutes)
	$(GO) test -count=1 -run '^TestLoad$$' ./host/internal/peers -load -v

.PHONY: soak
soak: plugins ## hold 1,000 streams for a minute; replace a plugin 1,000 times under load
	RESHOST_SOAK=1m $(GO) test -count=1 -run TestSoak -v ./host
	RESHOST_RELOADS=1000 $(GO) test -count=1 -run 'TestReloadUnderLoad' ./cmd/reshost

.PHONY: lint
lint: ## formatting, vet on each operating system, staticcheck
	@out=$$($(TOOL) gofumpt -l .) && if [ -n "$$out" ]; then echo "gofumpt: not formatted:"; echo "$$out"; exit 1; fi
	@$(MAKE) --no-print-directory vet MATRIX="$(TARGETS)"
	$(TOOL) staticcheck ./...

.PHONY: cross
cross: ## vet every platform
	@$(MAKE) --no-print-directory vet MATRIX="$(CROSS)"

.PHONY: vet
MATRIX ?= $(TARGETS)
vet:
	@set -e; for t in $(MATRIX); do echo "vet $$t"; GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 $(GO) vet ./...; done

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p; done; done

.PHONY: bench
bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: hostile
hostile: ## serve guests that do their worst, and show what their neighbours notice (needs clang and lld, on Linux)
	CI=1 RESHOST_HOSTILE=1 $(GO) test -count=1 -timeout 20m -run '^TestHostileGuests$$' -v ./cmd/reshost

.PHONY: clean
clean: ## remove what was built
	rm -rf bin $(CACHE) $(EMBED)/*.wasm.gz examples/*/*.wasm

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

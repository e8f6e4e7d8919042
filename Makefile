# Every target is one line of work; `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo
LOCAL := target/debug/cognition-local
TOOLS := target/tools

help: ## Lists the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 14

build: ## Builds the local runner and the sandbox runtime that it starts.
	$(CARGO) build -p cognition-local -p sandbox-runtime

demo: build ## Shows the main job: a request, its stream, and two verified files.
	$(LOCAL) demo

run: build ## Serves A2A on http://127.0.0.1:8700 (ARGS="--port 9000 --memory …").
	$(LOCAL) serve $(ARGS)

invoke: build ## Runs one handler on one sample: make invoke F=run-orchestrator E=events/run-orchestrator/admitted.json
	$(LOCAL) invoke --function $(F) --event $(E) $(ARGS)

migrate: build ## Applies the migrations: make migrate ARGS="--database-url postgres://…"
	$(LOCAL) migrate $(ARGS)

test: tools ## Runs every test; finds or installs what they need.
	. $(TOOLS)/env && $(CARGO) build --workspace --all-targets && $(CARGO) test --workspace

tools: ## Finds or installs PostgreSQL, SeaweedFS and the A2A clients that the tests talk with.
	@tests/tools.sh $(TOOLS)

check: ## Format, lints and docs, as CI wants them.
	$(CARGO) fmt --all --check && $(CARGO) clippy --workspace --all-targets -- -D warnings && RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items

bench: tools ## Measures completion at 1, 10 and 50 concurrent tasks, the codec, serving, and what idle subscribers cost.
	$(CARGO) build --profile measure -p cognition-local -p sandbox-runtime
	$(CARGO) bench -p codec-bench
	. $(TOOLS)/env && $(CARGO) bench --profile measure -p cognition-local --bench serving
	. $(TOOLS)/env && $(CARGO) run --profile measure -p a2a-ingress --example idle_subscribers
	$${CARGO_TARGET_DIR:-target}/measure/cognition-local bench $(ARGS)

fuzz: ## Fuzzes one target, guided by coverage: make fuzz T=parts SECONDS=600
	@tests/fuzz/fuzz.sh $(T) $(SECONDS)

package: ## Builds the functions with cargo-lambda and the sandbox runtime as static binaries, and prints sizes.
	@infra/package.sh

.PHONY: help build demo run invoke migrate test tools check bench fuzz package

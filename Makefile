# Thin on purpose: each target is what a person would type.

NPM = npm --prefix packages
# Always everything: a build of one package resolves other features and compiles most of it again.
BUILD = cargo build --workspace --all-targets

.PHONY: run build ui packages test test-tools test-rust test-api test-ts test-builds builds-tools test-agents test-dist \
	lint deny fmt bench dist clean

STATIC = target/$(shell sh scripts/musl.sh target)/dist

# Builds the server with the inspector and starts it on http://127.0.0.1:2468.
run: build
	./target/release/sandbox-agent server $(ARGS)

build: ui
	cargo build --release -p sandbox-agent

# The inspector, which the binary embeds.
ui: packages
	$(NPM) run build
	$(NPM) run build --workspace inspector

packages:
	$(NPM) install --no-audit --no-fund

# Every test that any user can run. Uses what apt, npm, pip and cargo install, and nothing else of the network. Only apt
# wants root, and it is called only when a package is missing.
test: test-tools test-rust test-api test-ts

test-tools:
	sh scripts/test-tools.sh

# The tests drive the built binaries, so those are built first, and the inspector before them, which they embed.
test-rust: test-tools ui
	$(BUILD)
	sh scripts/nextest.sh run --workspace
	sh tests/remote-instances/contract.sh

# Tries the running server out against docs/openapi.json.
test-api: test-tools ui
	$(BUILD)
	sh scripts/schemathesis.sh

test-ts: test-tools ui
	$(BUILD)
	$(NPM) run typecheck
	$(NPM) run lint
	$(NPM) test
	$(NPM) run test:browser
	$(NPM) run test:agents -- --quick

# What needs root or sudo, and what builds the product the way its users do: the tests in namespaces, the container images
# with an engine that is started for them, `make run`, and the unit under a systemd that is booted for it. Where it cannot
# run it says so and fails; it installs everything it uses before it starts.
test-builds: builds-tools ui
	$(BUILD)
	sh scripts/nextest.sh run --workspace --profile privileged
	sh tests/container/with-engine.sh sh scripts/nextest.sh run --workspace --profile container
	sh scripts/nextest.sh run --workspace --profile make-run
	sh packaging/systemd/try.sh target/release/sandbox-agent

builds-tools:
	sh scripts/builds-tools.sh

# Real agents against the scripted model, all of them unless ARGS names some; a run of all writes the page.
test-agents: ui
	$(BUILD)
	$(NPM) run test:agents -- $(if $(ARGS),$(ARGS),--page $(CURDIR)/docs/agent-matrix.md)

# The same against the static binary: the tests of the server and of the packaging, those in namespaces, and the unit
# under systemd. Needs the same privileges as `make test-builds`.
test-dist: builds-tools test-tools ui
	sh scripts/musl.sh build
	SANDBOX_AGENT_BIN=$(CURDIR)/$(STATIC)/sandbox-agent sh scripts/nextest.sh run -p sandbox-agent
	SANDBOX_AGENT_BIN=$(CURDIR)/$(STATIC)/sandbox-agent sh scripts/nextest.sh run -p sandbox-agent --profile privileged
	sh packaging/systemd/try.sh $(STATIC)/sandbox-agent

lint: deny
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

# Licences, versions and sources of dependencies. `make deny CHECK=advisories` fetches the list of known problems first.
CHECK = bans licenses sources
deny:
	sh scripts/cargo-deny.sh check $(CHECK)

fmt:
	cargo fmt --all

# Ratios against what is possible on this machine, all sides in one run. Close everything else first.
bench: build
	sh scripts/musl.sh build --profile dist -p sandbox-agent
	cargo build --release -p bench
	sh bench/setup.sh
	./target/release/bench run $(ARGS)

# What is given away, into dist/: the static binary with its papers, the npm packages, checksums.
dist: ui
	sh scripts/musl.sh build
	sh packaging/dist.sh $(STATIC)/sandbox-agent

clean:
	cargo clean
	rm -rf dist

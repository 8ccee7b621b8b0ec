# Each target runs only the commands that a developer would type. Longer work is in scripts/ and packaging/.

MAKEFLAGS += --no-print-directory
NPM = npm --prefix packages
# Always builds the whole workspace: for a single package, Cargo resolves other features and compiles most crates again.
BUILD = cargo build --workspace --all-targets

.PHONY: run build ui packages test test-tools test-rust test-api test-ts rust-suites api-suite ts-suites test-builds \
	builds-tools test-agents test-dist lint clippy deny fmt doc rustdoc fuzz soak mutants screenshots bench dist clean

STATIC = target/$(shell sh scripts/musl.sh target)/dist

# Builds the server with the inspector, and starts it on http://127.0.0.1:2468.
run: build
	./target/release/sandbox-agent server $(ARGS)

build: ui
	cargo build --release -p sandbox-agent

# Builds the inspector, which the binary embeds.
ui: packages
	$(NPM) run build
	$(NPM) run build --workspace inspector

packages:
	$(NPM) install --no-audit --no-fund

# Runs all tests that need no privileges. Uses the network only through apt, npm, pip and cargo. Only apt needs root; it is
# called only if a package is missing. The suites of the two languages run side by side, because they mostly wait.
test:
	sh scripts/side-by-side.sh "$(MAKE) lint" "$(MAKE) ui"
	$(MAKE) test-tools
	$(BUILD)
	sh scripts/side-by-side.sh "$(MAKE) rust-suites api-suite" "$(MAKE) ts-suites"

test-tools:
	sh scripts/test-tools.sh

# Builds the binaries before the tests, which run them, and before that the inspector, which the binaries embed.
test-rust: test-tools ui
	$(BUILD)
	$(MAKE) rust-suites

test-api: test-tools ui
	$(BUILD)
	$(MAKE) api-suite

test-ts: test-tools ui
	$(BUILD)
	$(MAKE) ts-suites

# The suites alone, for when everything is built.
rust-suites:
	sh scripts/nextest.sh run --workspace
	sh tests/remote-instances/contract.sh
	cargo test --doc --workspace

# Tests the running server against docs/openapi.json.
api-suite:
	sh scripts/schemathesis.sh

ts-suites:
	$(NPM) run typecheck
	$(NPM) run lint
	$(NPM) test
	$(NPM) run test:browser
	$(NPM) run test:agents -- --quick

# Runs the tests that need root or sudo, and those that build the product as users do: tests in namespaces, container images
# with their own container engine, `make run`, and the systemd unit under its own systemd. Fails with a message if the
# privileges are missing. Installs everything that it uses before it starts.
test-builds: builds-tools ui
	$(BUILD)
	sh scripts/nextest.sh run --workspace --profile privileged
	sh tests/container/with-engine.sh sh scripts/nextest.sh run --workspace --profile container
	sh scripts/nextest.sh run --workspace --profile make-run
	sh packaging/systemd/try.sh target/release/sandbox-agent

builds-tools:
	sh scripts/builds-tools.sh

# Tests real agents with the scripted model: the agents in ARGS or, without ARGS, all agents. A run of all agents writes
# docs/agent-matrix.md.
test-agents: test-tools ui
	$(BUILD)
	$(NPM) run test:agents -- $(if $(ARGS),$(ARGS),--page $(CURDIR)/docs/agent-matrix.md)

# Runs every suite that starts the server, the tests in namespaces and the test of the systemd unit with the static binary.
# Needs the same privileges as `make test-builds`.
test-dist: export SANDBOX_AGENT_BIN = $(CURDIR)/$(STATIC)/sandbox-agent
test-dist: builds-tools test-tools ui
	sh scripts/musl.sh build
	$(BUILD)
	sh scripts/side-by-side.sh "$(MAKE) rust-suites api-suite" "$(MAKE) ts-suites"
	sh scripts/nextest.sh run --workspace --profile privileged
	sh packaging/systemd/try.sh $(STATIC)/sandbox-agent

# Checks formatting, lints, documentation, words, versions and licences. `make test` does this first.
lint:
	cargo fmt --all --check
	sh scripts/words.sh
	node packages/scripts/version.mjs --check
	sh scripts/side-by-side.sh "$(MAKE) clippy rustdoc" "$(MAKE) deny"

clippy:
	cargo clippy --workspace --all-targets -- -D warnings

# Checks licences, versions and sources of dependencies. `make deny CHECK=advisories` also downloads the list of known
# vulnerabilities.
CHECK = bans licenses sources
deny:
	sh scripts/cargo-deny.sh check $(CHECK)

fmt:
	cargo fmt --all

# Builds the documentation of the crates, which must have no warnings, adds a front page, and runs the examples in it.
doc: rustdoc
	cargo test --doc --workspace

# `--examples` gives the dependencies the same features as for clippy, so that cargo does not check them a second time. It
# requires that the other targets are named: the binaries are those without a library of the same name.
rustdoc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --lib --examples \
		--bin bench --bin fault-agent --bin remote-server
	cargo metadata --no-deps --format-version 1 | node scripts/doc-index.mjs

# Runs each fuzz target for FUZZ_SECONDS. ARGS selects some targets; default: all.
FUZZ_SECONDS = 60
fuzz:
	FUZZ_SECONDS=$(FUZZ_SECONDS) sh scripts/fuzz.sh $(ARGS)

# The random operations of `make test`, for SOAK_MINUTES. CHAOS_SEED repeats the choices of a run.
SOAK_MINUTES = 60
soak: test-tools ui
	$(BUILD)
	SOAK_MINUTES=$(SOAK_MINUTES) sh scripts/nextest.sh run --workspace --profile soak --no-capture

# Changes Rust modules without I/O and the SDK's conversions in small ways, and checks that a test fails for each change. Takes
# most of an hour, so it is not part of `make test`. ARGS go to cargo-mutants.
mutants: packages
	sh scripts/cargo-mutants.sh $(ARGS)
	$(NPM) run mutants

# Makes the pictures of the inspector in docs/images. Look at them before you commit them.
screenshots: test-tools ui
	$(BUILD)
	$(NPM) run screenshots

# Compares the server with the best possible values on this machine, and with another implementation, in one run. Close all
# other programs first.
bench: build
	sh scripts/musl.sh build --profile dist -p sandbox-agent
	cargo build --release -p bench
	sh bench/setup.sh
	./target/release/bench run $(ARGS)

# Builds the release files in dist/: the static binary with its documents, the npm packages, checksums.
dist: ui
	sh scripts/musl.sh build
	sh packaging/dist.sh $(STATIC)/sandbox-agent

clean:
	cargo clean
	rm -rf dist

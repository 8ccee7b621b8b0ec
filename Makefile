# Deliberately thin: each target runs the commands that a person would type.

NPM = npm --prefix packages
# Always the whole workspace: a build of one package resolves other features and compiles most crates again.
BUILD = cargo build --workspace --all-targets

.PHONY: run build ui packages test test-tools test-rust test-api test-ts test-builds builds-tools test-agents test-dist \
	lint deny fmt doc fuzz mutants screenshots bench dist clean

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

# Runs all tests that need no privileges. Uses the network only through apt, npm, pip and cargo. Only apt needs root, and it
# is called only if a package is missing.
test: lint test-tools test-rust test-api test-ts

test-tools:
	sh scripts/test-tools.sh

# The tests run the built binaries, so these are built first, and the inspector, which they embed, before them.
test-rust: test-tools ui
	$(BUILD)
	sh scripts/nextest.sh run --workspace
	sh tests/remote-instances/contract.sh

# Tests the running server against docs/openapi.json.
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

# Tests real agents against the scripted model; default: all agents, or those in ARGS. A run of all writes the page.
test-agents: ui
	$(BUILD)
	$(NPM) run test:agents -- $(if $(ARGS),$(ARGS),--page $(CURDIR)/docs/agent-matrix.md)

# Tests the static binary: the tests of the server and of the packaging, those in namespaces, and the systemd unit. Needs
# the same privileges as `make test-builds`.
test-dist: builds-tools test-tools ui
	sh scripts/musl.sh build
	SANDBOX_AGENT_BIN=$(CURDIR)/$(STATIC)/sandbox-agent sh scripts/nextest.sh run -p sandbox-agent
	SANDBOX_AGENT_BIN=$(CURDIR)/$(STATIC)/sandbox-agent sh scripts/nextest.sh run -p sandbox-agent --profile privileged
	sh packaging/systemd/try.sh $(STATIC)/sandbox-agent

# Style, mistakes, documentation, words, versions and licences. `make test` begins with it.
lint: packages deny doc
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	sh scripts/words.sh
	node packages/scripts/version.mjs --check

# Checks licences, versions and sources of dependencies. `make deny CHECK=advisories` also downloads the list of known
# vulnerabilities.
CHECK = bans licenses sources
deny:
	sh scripts/cargo-deny.sh check $(CHECK)

fmt:
	cargo fmt --all

# The documentation of the crates, without warnings and with a front page; and its examples, which are run.
doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
	cargo metadata --no-deps --format-version 1 | node scripts/doc-index.mjs
	cargo test --doc --workspace

# Each fuzz target for FUZZ_SECONDS; ARGS names some targets instead of all.
FUZZ_SECONDS = 60
fuzz:
	FUZZ_SECONDS=$(FUZZ_SECONDS) sh scripts/fuzz.sh $(ARGS)

# Changes the TypeScript conversions in small ways and checks that a test notices. Takes minutes, so `test` leaves it out.
mutants: packages
	$(NPM) run mutants

# Makes the pictures of the inspector in docs/images. Look at them before you commit them.
screenshots: test-tools ui
	$(BUILD)
	$(NPM) run screenshots

# Measures ratios to the best possible values on this machine, all sides in one run. Close all other programs first.
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

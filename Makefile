# Thin on purpose: each target is what a person would type.

NPM = npm --prefix packages

.PHONY: run build ui packages test test-rust test-otlp test-api test-ts test-builds test-agents test-dist lint deny fmt bench dist clean

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

# Everything that can be checked without a network beyond the package registries.
test: test-rust test-otlp test-api test-ts test-builds

# The tests drive the built binaries, so those are built first. They look into the npm packages of the inspector, too.
test-rust: packages
	sh scripts/packaging-tools.sh
	cargo build --workspace --all-targets
	sh scripts/nextest.sh run --workspace

# A feature that is off in the shipped binary; this builds that one crate once more.
test-otlp:
	sh scripts/nextest.sh run --workspace --features sandbox-agent/otlp --test otlp

# Tries the running server out against docs/openapi.json.
test-api:
	cargo build -p sandbox-agent
	sh scripts/schemathesis.sh

test-ts: ui
	cargo build -p sandbox-agent
	$(NPM) run typecheck
	$(NPM) run lint
	sh scripts/chromium.sh
	sh scripts/postgres.sh
	$(NPM) test
	$(NPM) run test:browser
	$(NPM) run test:agents -- --quick

# What builds the product the way its users do, from `make run` to the container images, with a container engine that is
# started for it.
test-builds: packages
	cargo build -p sandbox-agent --tests
	sh tests/container/with-engine.sh sh scripts/nextest.sh run -p sandbox-agent --ignore-default-filter \
		-E 'binary(container) or test(/^make_run::/)' --test-threads 1

# Real agents against the scripted model, all of them unless ARGS names some; a run of all writes the page.
test-agents: packages
	cargo build -p sandbox-agent
	$(NPM) run test:agents -- $(if $(ARGS),$(ARGS),--page $(CURDIR)/docs/agent-matrix.md)

# The tests of the server and of the packaging against the static binary, which `make test` runs against the ordinary one;
# and the unit under a systemd that is booted for it.
test-dist: ui
	sh scripts/musl.sh build
	sh scripts/packaging-tools.sh
	SANDBOX_AGENT_PACKAGED=$(CURDIR)/$(STATIC) sh scripts/nextest.sh run -p sandbox-agent
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

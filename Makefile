# Thin on purpose: each target is what a person would type.

NPM = npm --prefix packages

.PHONY: run build ui packages test test-rust test-otlp test-api test-ts lint fmt bench clean

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
test: test-rust test-otlp test-api test-ts

# The tests drive the built binaries, so those are built first.
test-rust:
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

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

fmt:
	cargo fmt --all

# Ratios against what is possible on this machine, all sides in one run. Close everything else first.
bench: build
	cargo build --release -p bench
	sh bench/setup.sh
	./target/release/bench run $(ARGS)

clean:
	cargo clean

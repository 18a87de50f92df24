# `make demo` and `make test` do everything on a fresh Debian or macOS machine that has a Rust toolchain. `make help` lists the rest.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
PREFIX ?= $(HOME)/.local
TARGET := $(or $(CARGO_TARGET_DIR),target)
CRATES := core store providers agents api daemon cli world
# What the tests need of `wloop`: its crash points. Built the same way everywhere, so that nothing is compiled twice.
FAILPOINTS := --features wloop-cli/failpoints

.PHONY: help setup build demo test real-agents lint each-crate install bench simulate generate fmt

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## look for a C compiler, git and cargo; as root on Debian, install what is missing
	@set -eu; missing=; \
	command -v cc >/dev/null || missing+=' gcc libc6-dev'; \
	command -v git >/dev/null || missing+=' git ca-certificates'; \
	if [ "$$(uname -s)" = Darwin ]; then \
	  if [ -n "$$missing" ] || ! xcode-select -p >/dev/null 2>&1; then \
	    echo 'a C compiler or git is missing; install them with: xcode-select --install' >&2; exit 1; \
	  fi; \
	elif [ -n "$$missing" ]; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	  else \
	    echo "missing here:$$missing; install them, on Debian with: sudo apt-get install$$missing" >&2; exit 1; \
	  fi; \
	fi
	@command -v $(CARGO) >/dev/null || { echo 'cargo is missing; install Rust as https://rustup.rs says, then try again' >&2; exit 1; }

build: setup ## build wloop and the demo's agent
	$(CARGO) build --package wloop-cli

demo: build ## run a complete loop with no account; without a terminal it plays once by itself
	@$(TARGET)/debug/wloop demo

test: lint each-crate ## check everything and run every test
	$(CARGO) test --workspace $(FAILPOINTS)

real-agents: setup ## start the real claude, codex and gemini by their presets, up to where they ask to sign in
	CARGO=$(CARGO) tests/real-agents.sh

lint: setup
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || { \
	  command -v rustup >/dev/null || { echo 'cargo fmt or cargo clippy is missing; add these components to the Rust toolchain' >&2; exit 1; }; \
	  rustup component add rustfmt clippy; }
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings

# Each crate by itself, so that none builds only because another one turns on a feature that it needs.
each-crate: setup
	@set -eu; for crate in $(CRATES); do echo "$(CARGO) check --package wloop-$$crate"; $(CARGO) check --quiet --package "wloop-$$crate"; done

install: setup ## build for use and put wloop under PREFIX (default: ~/.local)
	$(CARGO) build --release --package wloop-cli
	install -d "$(PREFIX)/bin"
	install -m 755 $(TARGET)/release/wloop $(TARGET)/release/wloop-demo-agent "$(PREFIX)/bin"

bench: setup ## run the benchmarks and put their figures into the README
	$(CARGO) build --release --package wloop-cli
	$(CARGO) bench --package wloop-core --bench predicate
	$(CARGO) bench --package wloop-store --bench commit
	$(CARGO) bench --package wloop-tests --bench whole -- --write

generate: setup ## write anew what is made from the code: docs/reference
	WLOOP_BLESS=1 $(CARGO) test --workspace $(FAILPOINTS) --test journeys tidy::

# The engine is optimised for it; what others wrote is, in any build.
simulate: setup ## live through simulated lives: SEEDS=2000 for so many (FROM=500: from that seed on), SEED=17 for one, told step by step
	SEED=$(SEED) SEEDS=$(SEEDS) FROM=$(FROM) $(CARGO) test --workspace $(FAILPOINTS) $(foreach crate,core store daemon,--config 'profile.dev.package.wloop-$(crate).opt-level=2') \
	  --test simulator -- --exact simulate --ignored --nocapture

fmt: ## format the code
	$(CARGO) fmt --all

#!/bin/sh
# Installs the real agents' programs from their packages into a folder of its own, without an account, and starts each by its preset
# up to the point where it asks to sign in. Left out with a message where npm or its registry is not reached.
set -eu
folder=${WLOOP_REAL_AGENTS_FOLDER:-${TMPDIR:-/tmp}/wloop-real-agents}
skip() {
    echo "real-agents: left out: $1"
    exit 0
}
command -v npm >/dev/null || skip 'npm is not installed'
mkdir -p "$folder"
npm install --prefix "$folder" --no-audit --no-fund --silent \
    @anthropic-ai/claude-code @openai/codex @google/gemini-cli >"$folder/install.log" 2>&1 ||
    skip "npm could not install them; see $folder/install.log"
# A version of npm that runs no script of a package leaves this step out.
(cd "$folder/node_modules/@anthropic-ai/claude-code" && [ ! -f install.cjs ] || node install.cjs >/dev/null)
WLOOP_REAL_AGENTS="$folder/node_modules/.bin" \
    ${CARGO:-cargo} test --workspace --features wloop-cli/failpoints --test journeys real_agents -- --ignored --nocapture --test-threads 1

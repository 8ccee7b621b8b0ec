#!/bin/sh
# Fails if a tracked file contains one of the words in words.txt.
set -eu
cd "$(dirname "$0")/.."
tab=$(printf '\t')
found=0
while IFS=$tab read -r word advice; do
    case $word in '#'* | '') continue ;; esac
    # Leaves out the list itself, files that are generated from texts that are checked, and texts of other programs.
    if git grep -nwE -e "$word" -- '*.rs' '*.ts' '*.tsx' '*.mjs' '*.md' '*.sh' '*.toml' '*.yml' '*.yaml' Makefile \
        ':!scripts/words.*' ':!packages/sandbox-agent/src/generated' ':!docs/agent-matrix.md'; then
        echo "instead of \"$word\": $advice" >&2
        found=1
    fi
done <scripts/words.txt
exit $found

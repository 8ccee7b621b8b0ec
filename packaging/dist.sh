#!/bin/sh
# Builds the release files in dist/: dist.sh BINARY
#
# The files are an archive with the static binary and its documents, the npm packages, a bill of materials for each of them,
# and checksums. Nothing is published. The archive is reproducible: names are sorted, and all files have the same time.
set -eu
binary=$(realpath "$1")
cd "$(dirname "$0")/.."
target=$(sh scripts/musl.sh target)
version=$("$binary" --version | cut -d ' ' -f 2)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH

rm -rf dist
name=sandbox-agent-$version-${target%%-*}-linux-musl
folder=dist/$name
mkdir -p "$folder"
install -m 755 "$binary" "$folder/sandbox-agent"
install -m 644 LICENSE README.md packaging/systemd/sandbox-agent.service "$folder/"
python3 packaging/licences.py "$target" >"$folder/THIRD-PARTY-LICENSES.txt"
python3 packaging/sbom.py binary "$target" >"$folder/sandbox-agent.cdx.json"
cp "$folder/sandbox-agent.cdx.json" "dist/$name.cdx.json"
mkdir "$folder/man" "$folder/completions"
"$binary" man --output "$folder/man"
for shell in bash zsh fish; do
    "$binary" completions "$shell" >"$folder/completions/sandbox-agent.$shell"
done
tar --create --directory dist --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w \
    --mtime="@$SOURCE_DATE_EPOCH" "$name" | gzip --no-name --best >"dist/$name.tar.gz"
rm -r "$folder"

case $target in x86_64-*) platform=linux-x64 ;; aarch64-*) platform=linux-arm64 ;; esac
node packages/scripts/dist.mjs --out dist --binary "$platform=$binary" >/dev/null
for package in acp-http-client sandbox-agent; do
    python3 packaging/sbom.py npm "$package" >"dist/$package-$version.npm.cdx.json"
done

cd dist
sha256sum -- * >SHA256SUMS
ls -l

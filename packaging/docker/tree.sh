#!/bin/sh
# Creates the files of the image with only the binary: tree.sh BINARY FOLDER
#
# In addition to the binary, these are a writable home directory, the entries for its user, certificates for HTTPS, and
# /tmp.
set -eu
binary=$1
folder=$2
mkdir -p "$folder/etc/ssl/certs" "$folder/home/agent/workspace" "$folder/tmp"
chmod 1777 "$folder/tmp"
cp "$binary" "$folder/sandbox-agent"
chmod 755 "$folder/sandbox-agent"
cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
echo 'agent:x:65532:65532::/home/agent:/sandbox-agent' >"$folder/etc/passwd"
echo 'agent:x:65532:' >"$folder/etc/group"

#!/bin/sh
# Reads names of functions. For each, writes the name without the hashes that stand for versions, then the full name.
exec sed -E 'h; s/17h[0-9a-f]{16}E/E/; s/Cs[0-9A-Za-z]+_/C/g; s/\.llvm\.[0-9]+$//; G; s/\n/ /'

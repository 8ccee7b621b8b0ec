#!/bin/sh
# Reads names of functions. Writes for each the name without hashes of compiler and crate versions, then the full name.
exec sed -E 'h; s/17h[0-9a-f]{16}E/E/; s/Cs[0-9A-Za-z]+_/C/g; s/\.llvm\.[0-9]+$//; G; s/\n/ /'

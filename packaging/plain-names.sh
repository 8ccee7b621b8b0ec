#!/bin/sh
# Reads names of functions, writes each behind itself without what the compiler's version and the crates' have put in.
exec sed -E 'h; s/17h[0-9a-f]{16}E/E/; s/Cs[0-9A-Za-z]+_/C/g; s/\.llvm\.[0-9]+$//; G; s/\n/ /'

/** The version of this package. Written by `packages/scripts/version.mjs`. */
export const VERSION = "0.5.0";

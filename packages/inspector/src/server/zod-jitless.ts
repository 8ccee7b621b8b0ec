/**
 * Tells the schema library below the SDK not to try whether it may make code out of text: this page's policy says no,
 * and would report the try. It reads this when it is loaded, so this comes first.
 */

const shared = globalThis as typeof globalThis & { __zod_globalConfig?: { jitless?: boolean } };
shared.__zod_globalConfig = { ...shared.__zod_globalConfig, jitless: true };

export {};

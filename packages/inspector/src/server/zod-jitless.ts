/**
 * Turns off code generation in zod, which the protocol's SDK uses. The page's content security policy forbids it, and
 * the browser would report the attempt. Must be imported before zod, which reads this setting when it is loaded.
 */

const shared = globalThis as typeof globalThis & { __zod_globalConfig?: { jitless?: boolean } };
shared.__zod_globalConfig = { ...shared.__zod_globalConfig, jitless: true };

export {};

/**
 * Converts between the SDK's types and the protocol's, for all packages of this repository. Pure functions: nothing
 * here sends, stores or waits. Not covered by semantic versioning: the public API is the main entry point, which does
 * not expose the protocol's types.
 *
 * @internal
 * @packageDocumentation
 */

export * from "./content.ts";
export * from "./diffs.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./items.ts";
export * from "./mcp.ts";
export * from "./meta.ts";
export * from "./permissions.ts";
export * from "./questions.ts";
export * from "./session.ts";
export * from "./settings.ts";
export * from "./usage.ts";

/** Conversions between the SDK's types and the protocol's. Pure functions: nothing here sends, stores or waits. */

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

/**
 * The official SDK, for packages that build on this one and want the very copy that it was built with.
 *
 * @packageDocumentation
 */

export * from "@agentclientprotocol/sdk";

/**
 * The official SDK, re-exported so that dependent packages use the same copy as this one.
 *
 * @packageDocumentation
 */

export * from "@agentclientprotocol/sdk";

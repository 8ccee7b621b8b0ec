/**
 * Run coding agents in a sandbox. {@link SandboxAgentClient} is the client; the other exports are its types, its
 * errors, and the in-memory store. Other stores are in `sandbox-agent/sqlite`, `sandbox-agent/postgres` and
 * `sandbox-agent/indexeddb`.
 *
 * This module is the package's entry point in a browser, so it imports nothing from Node.js. Elsewhere the entry point
 * is `node.ts`, which also makes `SandboxAgentClient.start()` work.
 *
 * @packageDocumentation
 */

export type { AgentInfo, Agents, InstallOptions, InstallResult } from "./api/agents.ts";
export type { ConfigEntries, SkillSource, SkillsConfig, StoredMcpServer } from "./api/config.ts";
export type {
  ArchiveType,
  EntryType,
  FileBody,
  FileChange,
  FileEntry,
  FileStat,
  Files,
  ListOptions,
  OpenFile,
  UploadResult,
  WriteOptions,
  WriteResult,
} from "./api/files.ts";
export type { Health, ServerLimits } from "./api/health.ts";
export type { PackedFile } from "./api/tar.ts";
export type { PermissionDecision, PermissionHandler, QuestionHandler, Reply } from "./client/agent-requests.ts";
export type { Abilities, AuthMethod, ConnectionInfo } from "./client/capabilities.ts";
export type { MaybePromise, TerminalCommand, TerminalExit, Terminals } from "./client/client-methods.ts";
export type { ConnectionStatus } from "./client/core.ts";
export type { EmbeddedOptions } from "./client/embedded.ts";
export type { History, HistoryRange } from "./client/listing.ts";
export type {
  ConnectOptions,
  LoadSessionOptions,
  NewSessionRequest,
  PromptMessage,
  PromptOptions,
  ReplayOptions,
  SandboxAgentClientOptions,
} from "./client/options.ts";
export type { EventFilter } from "./client/recorder.ts";
export type { ModelList } from "./client/settings.ts";
export { SandboxAgentClient } from "./client.ts";
export type { Attachment, Content } from "./convert/content.ts";
export type { LocalMcpServer, McpServerConfig, McpServers, RemoteMcpServer } from "./convert/mcp.ts";
export type { Extensions, SandboxMetadata } from "./convert/meta.ts";
export type {
  PermissionGrant,
  PermissionKind,
  PermissionOption,
  PermissionReply,
  PermissionRequest,
} from "./convert/permissions.ts";
export type { Answers, Question, QuestionField, QuestionOption, QuestionStatus } from "./convert/questions.ts";
export type { NewSessionOptions } from "./convert/session.ts";
export type { Choice, ConfigOption } from "./convert/settings.ts";
export * from "./errors.ts";
export type * from "./events.ts";
export type { RetryOptions, ServerOptions, TokenSource } from "./http.ts";
export type { JsonObject } from "./json.ts";
export type { RunningTurn, Session, SessionInfo, SessionProperties, TurnResult } from "./session.ts";
export { type MemoryStoreOptions, memoryStore } from "./store/memory.ts";
export type {
  EventRange,
  IndexedSession,
  Page,
  SessionStore,
  StoredEvent,
  StoredSession,
} from "./store/types.ts";

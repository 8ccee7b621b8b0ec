/** The built packages, which are under test. */

export { type WatchedEvent, watchAcpServers } from "../../../packages/acp-http-client/dist/index.js";
export {
  AgentError,
  AgentExitedError,
  type ConnectionInfo,
  HttpError,
  type PermissionRequest,
  SandboxAgentClient,
  type SandboxEvent,
  type Session,
  type TerminalCommand,
  type Terminals,
  type TurnResult,
} from "../../../packages/sandbox-agent/dist/index.js";

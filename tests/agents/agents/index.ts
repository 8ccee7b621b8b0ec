/** The agents of the matrix: the whole catalog. */

import type { Agent } from "./agent.ts";
import { amp } from "./amp.ts";
import { auggie } from "./auggie.ts";
import { claude } from "./claude.ts";
import { cline } from "./cline.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { cursor } from "./cursor.ts";
import { droid } from "./droid.ts";
import { fastAgent } from "./fast-agent.ts";
import { gemini } from "./gemini.ts";
import { goose } from "./goose.ts";
import { grok } from "./grok.ts";
import { hermes } from "./hermes.ts";
import { junie } from "./junie.ts";
import { kilo } from "./kilo.ts";
import { kimi } from "./kimi.ts";
import { opencode } from "./opencode.ts";
import { openhands } from "./openhands.ts";
import { pi } from "./pi.ts";
import { qoder } from "./qoder.ts";
import { qwen } from "./qwen.ts";
import { vibe } from "./vibe.ts";

/** All agents, in the order of the page. */
export const AGENTS: readonly Agent[] = [
  claude,
  codex,
  opencode,
  gemini,
  qwen,
  pi,
  goose,
  kimi,
  copilot,
  kilo,
  droid,
  grok,
  cline,
  fastAgent,
  vibe,
  hermes,
  openhands,
  auggie,
  qoder,
  amp,
  cursor,
  junie,
];

/** Two agents that install and run quickly. goose exists only for x64. */
export const QUICK: readonly string[] = process.arch === "x64" ? ["codex", "goose"] : ["codex", "copilot"];

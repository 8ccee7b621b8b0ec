/**
 * Where agents look for their credentials: environment variables of the server and files in its home directory. Any one
 * of them is enough. A test compares this list with the generated page docs/agents.md.
 */

const NAMES: Readonly<Record<string, readonly string[]>> = {
  claude: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "~/.claude/.credentials.json"],
  codex: ["OPENAI_API_KEY", "CODEX_API_KEY", "~/.codex/auth.json"],
  opencode: [
    "OPENCODE_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "~/.local/share/opencode/auth.json",
  ],
  amp: ["AMP_API_KEY", "~/.local/share/amp/secrets.json"],
  gemini: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "~/.gemini/oauth_creds.json"],
  copilot: [
    "COPILOT_GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "COPILOT_PROVIDER_API_KEY",
    "~/.copilot/config.json",
    "~/.config/gh/hosts.yml",
  ],
  cursor: ["CURSOR_API_KEY", "~/.config/cursor/auth.json"],
  pi: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "~/.pi/agent/auth.json"],
  qwen: ["OPENAI_API_KEY", "DASHSCOPE_API_KEY", "~/.qwen/oauth_creds.json"],
  goose: [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "~/.config/goose/secrets.yaml",
  ],
  cline: ["CLINE_API_KEY", "~/.cline/data/secrets.json"],
  kilo: ["KILO_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "~/.local/share/kilo/auth.json"],
  auggie: ["AUGMENT_SESSION_AUTH", "AUGMENT_API_TOKEN", "~/.augment/session.json"],
  droid: ["FACTORY_API_KEY", "~/.factory/auth.encrypted", "~/.factory/auth.json"],
  kimi: ["KIMI_API_KEY", "KIMI_MODEL_API_KEY", "MOONSHOT_API_KEY", "~/.kimi-code/credentials/kimi-code.json"],
  vibe: ["MISTRAL_API_KEY", "~/.vibe/.env"],
  "fast-agent": ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GENERIC_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"],
  openhands: ["LLM_API_KEY", "~/.openhands/agent_settings.json"],
  hermes: ["OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "~/.hermes/.env", "~/.hermes/auth.json"],
  grok: ["XAI_API_KEY", "GROK_API_KEY", "~/.grok/auth.json"],
  qoder: ["QODER_PERSONAL_ACCESS_TOKEN", "~/.qoder/auth.json"],
  junie: ["JUNIE_API_KEY", "~/.junie/credentials.json"],
};

/** The variables and files in which an agent looks for credentials; empty if they are not known. */
export function credentialNames(agent: string): readonly string[] {
  return Object.hasOwn(NAMES, agent) ? (NAMES[agent] ?? []) : [];
}

/** The environment variable that a user should set for an agent; `undefined` if none is known. */
export function credentialVariable(agent: string): string | undefined {
  return credentialNames(agent).find((name) => !name.startsWith("~"));
}

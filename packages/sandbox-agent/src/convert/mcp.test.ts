import { expect, it } from "vitest";
import { isMcpServerConfig, type McpServerConfig, type McpServers, mcpServersOf } from "./mcp.ts";

it("converts a local server to a command with lists of arguments and variables", () => {
  const { servers, skipped } = mcpServersOf({
    tools: { type: "local", command: "run", args: ["--fast"], env: { A: "1", B: "2" } },
  });
  expect(skipped).toEqual([]);
  expect(servers).toEqual([
    {
      name: "tools",
      command: "run",
      args: ["--fast"],
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "2" },
      ],
    },
  ]);
});

it("accepts a command that is a list, with and without further arguments", () => {
  const { servers } = mcpServersOf({
    list: { type: "local", command: ["npx", "-y", "server"] },
    both: { command: ["npx", "server"], args: ["--flag"], environment: { OLD: "name" } },
  });
  expect(servers).toMatchObject([
    { command: "npx", args: ["-y", "server"], env: [] },
    { command: "npx", args: ["server", "--flag"], env: [{ name: "OLD", value: "name" }] },
  ]);
});

it("converts a remote server to http, or sse on request, with a list of headers", () => {
  const { servers } = mcpServersOf({
    web: { type: "remote", url: "https://example.test/mcp", headers: { "X-Key": "k" } },
    old: { url: "https://example.test/sse", transport: "sse" },
  });
  expect(servers).toEqual([
    { type: "http", name: "web", url: "https://example.test/mcp", headers: [{ name: "X-Key", value: "k" }] },
    { type: "sse", name: "old", url: "https://example.test/sse", headers: [] },
  ]);
});

it("looks bearer tokens and headers up in the environment", () => {
  const config: McpServers = {
    web: {
      type: "remote",
      url: "https://example.test",
      headers: { Fixed: "f" },
      bearerTokenEnvVar: "TOKEN",
      envHeaders: { "X-Team": "TEAM" },
    },
  };
  expect(mcpServersOf(config, { env: { TOKEN: "t", TEAM: "blue" } }).servers[0]).toMatchObject({
    headers: [
      { name: "Fixed", value: "f" },
      { name: "X-Team", value: "blue" },
      { name: "Authorization", value: "Bearer t" },
    ],
  });
  expect(mcpServersOf(config, { env: { TEAM: "blue" } })).toEqual({
    servers: [],
    skipped: [{ name: "web", reason: "the environment variable TOKEN is not set" }],
  });
  expect(mcpServersOf(config, { env: { TOKEN: "t" } }).skipped[0]?.reason).toContain("TEAM");
});

it("puts settings without a field in the protocol into metadata", () => {
  const { servers } = mcpServersOf({
    a: { command: "run", cwd: "/projects", timeoutMs: 5 },
    b: { url: "https://example.test", oauth: { clientId: "x" } },
  });
  expect(servers).toMatchObject([
    { _meta: { "sandboxagent.dev": { cwd: "/projects", timeoutMs: 5 } } },
    { _meta: { "sandboxagent.dev": { oauth: { clientId: "x" } } } },
  ]);
});

it("leaves out servers that are disabled, empty or unsupported, and says why", () => {
  const map = {
    off: { command: "run", enabled: false },
    empty: { type: "local", command: [] },
    nothing: { enabled: true },
    sse: { url: "https://example.test", transport: "sse" },
    http: { url: "https://example.test" },
  } as unknown as McpServers;
  const { servers, skipped } = mcpServersOf(map, { abilities: { http: true } });
  expect(servers.map(({ name }) => name)).toEqual(["http"]);
  expect(Object.fromEntries(skipped.map(({ name, reason }) => [name, reason]))).toEqual({
    off: "it is not enabled",
    empty: "its command is empty",
    nothing: "it has neither a command nor a url",
    sse: "the agent does not support MCP servers over sse",
  });
});

it("recognises an MCP server", () => {
  expect(isMcpServerConfig({ command: "x" })).toBe(true);
  expect(isMcpServerConfig({ url: "x" })).toBe(true);
  expect(isMcpServerConfig({ sources: [] })).toBe(false);
  expect(isMcpServerConfig("x")).toBe(false);
});

it("leaves out what is not text, and needs a command that is not empty", () => {
  const convert = (config: object) => mcpServersOf({ x: config as McpServerConfig });
  expect(convert({ command: ["run", 1, "a"], args: [null, "b"] }).servers).toMatchObject([
    { command: "run", args: ["a", "b"] },
  ]);
  for (const command of ["", [], [1]]) {
    expect(convert({ command }).skipped).toEqual([{ name: "x", reason: "its command is empty" }]);
  }
});

it("uses the type, if there is one", () => {
  const both = { command: "run", url: "https://example.test" };
  const convert = (config: object) => mcpServersOf({ x: config as McpServerConfig }).servers[0];
  expect(convert({ ...both, type: "local" })).toMatchObject({ command: "run" });
  expect(convert({ ...both, type: "remote" })).toMatchObject({ url: "https://example.test" });
  expect(convert(both)).toMatchObject({ command: "run" });
});

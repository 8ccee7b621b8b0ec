import { describe, expect, it } from "vitest";
import { mergeMetadata, readExtensions, readLegacyEvent, readMetadata, withMetadata } from "./meta.ts";
import { newSessionParams, sessionMetadata } from "./session.ts";
import {
  type ConfigOption,
  NO_SETTINGS,
  readOptions,
  readSettings,
  type SessionSettings,
  setModelRequests,
  setModeRequests,
  setOptionRequest,
  setPermissionModeRequest,
  withMode,
  withModel,
  withOptions,
} from "./settings.ts";

// Functions and not values, so that a conversion that throws fails only the tests that use it and not the whole file.
const modern = () =>
  readSettings({
    configOptions: [
      {
        id: "m1",
        name: "Mode",
        category: "mode",
        type: "select",
        currentValue: "ask",
        options: [{ value: "ask", name: "Ask" }],
      },
      {
        id: "m2",
        name: "Model",
        category: "model",
        type: "select",
        currentValue: "small",
        options: [
          {
            group: "g",
            name: "G",
            options: [
              { value: "small", name: "Small" },
              { value: "big", name: "Big" },
            ],
          },
        ],
      },
      { id: "permission_mode", name: "Permissions", type: "select", currentValue: "ask", options: [] },
      { id: "fast", name: "Fast", type: "boolean", currentValue: false },
    ],
  });
const older = () =>
  readSettings({
    modes: { currentModeId: "plan", availableModes: [{ id: "plan", name: "Plan" }] },
    models: { currentModelId: "old", availableModels: [{ modelId: "old", name: "Old" }] },
  });

describe("settings of a session", () => {
  it("are read from config options, grouped choices included", () => {
    expect(modern()).toMatchObject({ mode: "ask", model: "small" });
    expect(modern().models.map(({ id }) => id)).toEqual(["small", "big"]);
    expect(modern().options.find(({ id }) => id === "fast")).toMatchObject({ value: false, choices: [] });
  });

  it("are read from the older fields if there are no options", () => {
    expect(older()).toMatchObject({ mode: "plan", model: "old", models: [{ id: "old", name: "Old" }] });
    expect(readSettings(null)).toEqual(NO_SETTINGS);
  });

  it("follow changes", () => {
    expect(withMode(modern(), "code")).toMatchObject({
      mode: "code",
      options: [{ id: "m1", value: "code" }, {}, {}, {}],
    });
    expect(withModel(older(), "new").model).toBe("new");
  });
});

describe("requests that change settings (CreateSessionRequest)", () => {
  it("`agentMode` prefers the option of category mode and falls back to session/set_mode", () => {
    expect(setModeRequests("s", modern(), "code")).toEqual([
      { method: "session/set_config_option", params: { sessionId: "s", configId: "m1", value: "code" } },
      { method: "session/set_mode", params: { sessionId: "s", modeId: "code" } },
    ]);
    expect(setModeRequests("s", older(), "code").map(({ method }) => method)).toEqual(["session/set_mode"]);
  });

  it("`model` prefers the option of category model and falls back to session/set_model", () => {
    expect(setModelRequests("s", modern(), "big")).toEqual([
      { method: "session/set_config_option", params: { sessionId: "s", configId: "m2", value: "big" } },
      { method: "session/set_model", params: { sessionId: "s", modelId: "big" } },
    ]);
    expect(setModelRequests("s", older(), "big").map(({ method }) => method)).toEqual(["session/set_model"]);
  });

  it("`permissionMode` is set through an option, if the agent has one", () => {
    expect(setPermissionModeRequest("s", modern(), "bypass")?.params).toEqual({
      sessionId: "s",
      configId: "permission_mode",
      value: "bypass",
    });
    expect(setPermissionModeRequest("s", older(), "bypass")).toBeUndefined();
  });

  it("boolean options are sent with their type", () => {
    expect(setOptionRequest("s", "fast", true).params).toEqual({
      sessionId: "s",
      configId: "fast",
      type: "boolean",
      value: true,
    });
  });
});

describe("a new session (CreateSessionRequest)", () => {
  it.each([
    ["agent", { agent: "mock" }, {}],
    ["agentVersion", { agentVersionRequested: "1.2" }, { agentVersion: "1.2" }],
    ["agentMode, as a hint", { mode: "code" }, { mode: "code" }],
    ["model, as a hint", { model: "big" }, { model: "big" }],
    ["permissionMode", { permissionMode: "ask" }, { permissionMode: "ask" }],
    ["skills", { skills: ["a"] }, { skills: ["a"] }],
    ["title", { title: "T" }, { title: "T" }],
    ["session_id, as an alias", { requestedSessionId: "mine" }, { sessionId: "mine" }],
    ["variant and any other field, unchanged", { variant: "v" }, { metadata: { variant: "v" } }],
  ])("carries `%s` in our metadata", (_, metadata, options) => {
    const { params } = newSessionParams("mock", "/projects", options);
    expect(readMetadata(params)).toMatchObject(metadata);
  });

  it("has `directory` as cwd and `mcp` as a list", () => {
    const { params, skipped } = newSessionParams("mock", "/projects", {
      mcp: { a: { command: "run" }, b: { command: "no", enabled: false } },
      additionalDirectories: ["/more"],
    });
    expect(params).toMatchObject({
      cwd: "/projects",
      mcpServers: [{ name: "a", command: "run", args: [], env: [] }],
      additionalDirectories: ["/more"],
    });
    expect(skipped).toHaveLength(1);
  });

  it("contains only what was requested", () => {
    expect(sessionMetadata("mock", {})).toEqual({ agent: "mock" });
  });
});

describe("metadata", () => {
  it("is added without changing other keys, and reads back the same", () => {
    const before = { _meta: { traceparent: "00-1", "sandboxagent.dev": { title: "old", kept: 1 } }, x: 1 };
    const after = withMetadata(before, { title: "new", gone: undefined });
    expect(after).toEqual({ _meta: { traceparent: "00-1", "sandboxagent.dev": { title: "new", kept: 1 } }, x: 1 });
    expect(readMetadata(after)).toEqual({ title: "new", kept: 1 });
  });

  it("is not added if it is empty", () => {
    expect(withMetadata({ x: 1 }, {})).toEqual({ x: 1 });
    expect(mergeMetadata(undefined, {})).toEqual({});
    expect(readMetadata({ _meta: null })).toEqual({});
  });

  it("carries the envelope of older events", () => {
    const message = {
      _meta: { "sandboxagent.dev": { legacyEvent: { eventId: "e", sequence: 4, source: "daemon", synthetic: true } } },
    };
    expect(readLegacyEvent(message)).toEqual({ eventId: "e", sequence: 4, source: "daemon", synthetic: true });
    expect(readLegacyEvent({})).toBeUndefined();
  });

  it("lists the agent's extensions", () => {
    const capabilities = { _meta: { "sandboxagent.dev": { extensions: { sessionDetach: true, methods: ["_x"] } } } };
    expect(readExtensions(capabilities)).toEqual({ methods: ["_x"], flags: { sessionDetach: true } });
    expect(readExtensions(undefined)).toEqual({ methods: [], flags: {} });
  });
});

describe("config options", () => {
  it("are read with what the agent sends, and without it", () => {
    const configOptions = [
      { id: "a", name: "A", description: "d", category: "c", currentValue: "x", options: [{ value: "x", name: "X" }] },
      { id: "b", currentValue: true, options: [{ id: "y", description: "D" }, {}, null] },
      { id: "without a value" },
      { name: "without an id", currentValue: "x" },
      { id: "number", currentValue: 7 },
      null,
    ];
    expect(readOptions(configOptions)).toEqual([
      {
        id: "a",
        name: "A",
        description: "d",
        category: "c",
        value: "x",
        choices: [{ id: "x", name: "X" }],
      },
      { id: "b", name: "b", value: true, choices: [{ id: "y", name: "y", description: "D" }] },
    ]);
  });

  it("take precedence over the older fields, if they have a value of the right type", () => {
    const before = readSettings({
      modes: { currentModeId: "plan", availableModes: [{ id: "plan", name: "Plan" }] },
      models: { currentModelId: "old", availableModels: [{ modelId: "old" }] },
    });
    expect(before).toEqual({
      options: [],
      modes: [{ id: "plan", name: "Plan" }],
      mode: "plan",
      models: [{ id: "old", name: "old" }],
      model: "old",
    });
    const flags = readOptions([
      { id: "mode", currentValue: true },
      { id: "model", currentValue: false },
    ]);
    expect(withOptions(before, flags)).toEqual({ ...before, options: flags, modes: [], models: [] });
    expect(withOptions(before, [])).toEqual(before);
  });

  it("are found by their category, else by their id if they have no category", () => {
    const named = { id: "mode", name: "n", value: "a", choices: [] };
    const other = { id: "mode", name: "n", category: "thought_level", value: "b", choices: [] };
    const exact = { id: "x", name: "n", category: "mode", value: "c", choices: [] };
    const unrelated = { id: "y", name: "n", value: "d", choices: [] };
    expect(withOptions(NO_SETTINGS, [unrelated, named]).mode).toBe("a");
    expect(withOptions(NO_SETTINGS, [other]).mode).toBeUndefined();
    expect(withOptions(NO_SETTINGS, [unrelated]).mode).toBeUndefined();
    expect(withOptions(NO_SETTINGS, [named, exact]).mode).toBe("c");
  });

  it("change together with the mode and the model, the others stay", () => {
    const settings = readSettings({
      configOptions: [
        { id: "mode", currentValue: "a" },
        { id: "model", currentValue: "b" },
        { id: "fast", currentValue: true },
      ],
    });
    const values = (next: SessionSettings) => next.options.map(({ value }) => value);
    expect(values(withMode(settings, "x"))).toEqual(["x", "b", true]);
    expect(values(withModel(settings, "y"))).toEqual(["a", "y", true]);
    expect(withModel(settings, "y").model).toBe("y");
  });

  it.each(["permission_mode", "permissionMode", "permissions", "approval_policy"])(
    "for permissions may be called %s, by id or by category",
    (name) => {
      const option = { id: "x", name: "n", value: "a", choices: [] };
      const requestFor = (options: readonly ConfigOption[]) =>
        setPermissionModeRequest("s", { ...NO_SETTINGS, options }, "ask")?.params;
      expect(requestFor([option, { ...option, id: name }])).toMatchObject({ configId: name, value: "ask" });
      expect(requestFor([option, { ...option, id: "y", category: name }])).toMatchObject({ configId: "y" });
      expect(requestFor([option, { ...option, category: "other" }])).toBeUndefined();
    },
  );
});

describe("metadata", () => {
  it("of an extension has methods and flags of the right type only", () => {
    const extensions = { methods: ["a", 1, null], on: true, off: false, text: "x" };
    expect(readExtensions({ _meta: { "sandboxagent.dev": { extensions } } })).toEqual({
      methods: ["a"],
      flags: { on: true, off: false },
    });
  });

  it("of an event has a flag only if it is one", () => {
    const legacyEvent = { eventId: "e", synthetic: "yes", source: "elsewhere" };
    expect(readLegacyEvent({ _meta: { "sandboxagent.dev": { legacyEvent } } })).toEqual({ eventId: "e" });
  });
});
